"""A server that speaks S3 on loopback: real requests, signatures and conditional writes, in a process of its own."""

import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError

from tests.sinks.running import eventually

BUCKET = "tachograph-artifacts"


def endpoint(url: str) -> dict[str, str]:
    """The variables by which clients of S3 are told where it is."""
    return {
        "AWS_ENDPOINT_URL": url,
        "AWS_ACCESS_KEY_ID": "loopback",
        "AWS_SECRET_ACCESS_KEY": "loopback",
        "AWS_REGION": "us-east-1",
    }


@contextmanager
def s3_server() -> Iterator[str]:
    """Its address. There is one empty bucket."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    command = [sys.executable, "-W", "ignore", "-m", "moto.server", "-H", "127.0.0.1", "-p", port]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{port}"
    try:
        eventually(lambda: _has_bucket(url), "the S3 server")
        yield url
    finally:
        process.kill()
        process.wait()


def _has_bucket(url: str) -> bool:
    once = Config(retries={"total_max_attempts": 1})
    client = boto3.client(
        "s3",
        endpoint_url=url,
        region_name="us-east-1",
        aws_access_key_id="loopback",
        aws_secret_access_key="loopback",
        config=once,
    )
    try:
        client.create_bucket(Bucket=BUCKET)
    except BotoCoreError:
        return False
    return True
