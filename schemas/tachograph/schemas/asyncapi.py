"""The topics as an AsyncAPI 3 document: ``python -m tachograph.schemas.asyncapi`` prints it."""

import json
import sys
from typing import Any

from tachograph.schemas.topics import FOREVER, TOPICS, Topic
from tachograph.schemas.wire.catalogue import load_catalogue

AVRO_FORMAT = "application/vnd.apache.avro;version=1.9.0"
AVSC_FOLDER_URL = "../schemas/tachograph/schemas/avsc"
"""Where the schemas are, seen from ``docs/``."""


def document() -> dict[str, Any]:
    """The whole document, in the order of the registry."""
    names = sorted({name for topic in TOPICS for name in topic.schemas})
    return {
        "asyncapi": "3.0.0",
        "info": {
            "title": "Tachograph",
            "version": "1",
            "description": "What agents publish, what the worker makes of it, and what alerts subscribe to.",
        },
        "defaultContentType": "application/avro",
        "channels": {topic.name: _channel(topic) for topic in TOPICS},
        "operations": {
            f"{_identifier(topic)}.{kind}": _operation(topic, kind) for topic in TOPICS for kind in ("send", "receive")
        },
        "components": {"messages": {name: _message(name) for name in names}},
    }


def _channel(topic: Topic) -> dict[str, Any]:
    return {
        "address": topic.name,
        "description": topic.description,
        "messages": {name: {"$ref": f"#/components/messages/{name}"} for name in topic.schemas},
        "bindings": {
            "kafka": {
                "topic": topic.name,
                "topicConfiguration": {"retention.ms": topic.retention_ms, "cleanup.policy": ["delete"]},
                "bindingVersion": "0.5.0",
            }
        },
        "x-key": topic.key,
        "x-kept-forever": topic.retention_ms == FOREVER,
        "x-table": topic.table,
    }


def _operation(topic: Topic, kind: str) -> dict[str, Any]:
    return {
        "action": kind,
        "channel": {"$ref": f"#/channels/{topic.name}"},
        "summary": f"{topic.writer if kind == 'send' else topic.reader} {'write' if kind == 'send' else 'read'}",
    }


def _message(name: str) -> dict[str, Any]:
    latest = load_catalogue().latest(name)
    return {
        "name": name,
        "summary": latest.schema["doc"],
        "payload": {"schemaFormat": AVRO_FORMAT, "schema": {"$ref": f"{AVSC_FOLDER_URL}/{latest.file_name}"}},
        "x-fingerprint": latest.fingerprint,
    }


def _identifier(topic: Topic) -> str:
    return topic.name.removeprefix("tachograph.")


def text() -> str:
    """The document as it is kept in ``docs/asyncapi.json``."""
    return json.dumps(document(), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    sys.stdout.write(text())
