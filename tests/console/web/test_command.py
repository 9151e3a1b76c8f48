"""``tachograph console``: an address that works once, on this machine, unless people can sign in."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from tachograph.console.cli.website import address, check, with_place
from tachograph.schemas.errors import ConfigError
from tachograph.schemas.settings import ConsoleSettings, Settings


def test_it_prints_an_address_that_opens_once_and_ends_on_ctrl_c(tmp_path: Path) -> None:
    """On stderr; data goes to stdout, and there is none."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tachograph.console.main", "console", "--port", "0"],
        env=os.environ | {"TACHOGRAPH_HOME": str(tmp_path), "TACHOGRAPH_KAFKA__BOOTSTRAP_SERVERS": "127.0.0.1:1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stderr is not None
        said = re.match(r"open once: (http://127\.0\.0\.1:\d+)(/login\?token=\S+)", process.stderr.readline())
        assert said is not None
        base, path = said.groups()
        with httpx.Client(base_url=base) as browser:
            assert browser.get("/runs").status_code == 401
            assert browser.get(path).status_code == 303
            assert browser.get("/query").status_code == 200
        assert httpx.get(base + path).status_code == 401
        assert "For another browser: " in process.stderr.readline()
        process.send_signal(signal.SIGINT)
        shown, complaints = process.communicate(timeout=60)
    finally:
        process.kill()
        process.communicate()
    assert shown == ""
    assert "Traceback" not in complaints
    assert process.returncode in {0, 130}


def test_others_are_not_served_without_a_way_to_sign_in() -> None:
    """The sentence says what to set."""
    with pytest.raises(ConfigError, match="TACHOGRAPH_CONSOLE__OIDC_ISSUER"):
        check(with_place(Settings(), "0.0.0.0", None))  # noqa: S104 - refused
    with pytest.raises(ConfigError, match="OIDC_CLIENT_ID"):
        check(Settings(console=ConsoleSettings(oidc_issuer="https://login.example.com")))
    known = ConsoleSettings(oidc_issuer="https://login.example.com", oidc_client_id="c")
    with pytest.raises(ConfigError, match="PUBLIC_URL"):
        check(with_place(Settings(console=known), "0.0.0.0", None))  # noqa: S104 - refused
    named = known.model_copy(update={"public_url": "https://console.example.com"})
    check(with_place(Settings(console=named), "0.0.0.0", None))  # noqa: S104 - people sign in
    check(with_place(Settings(), "::1", 0))


def test_the_address_is_the_one_that_browsers_use() -> None:
    """Behind a proxy, its name; else host and port, also for IPv6."""
    assert address(with_place(Settings(), "::1", 0), 7) == "http://[::1]:7"
    public = Settings(console=ConsoleSettings(public_url="https://console.example.com/"))
    assert address(public, 7) == "https://console.example.com"
