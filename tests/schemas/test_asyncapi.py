"""The AsyncAPI document is the registry of topics, and nothing else."""

from pathlib import Path
from typing import Any

from tachograph.schemas.asyncapi import document, text
from tachograph.schemas.topics import TOPICS

FILE = Path(__file__).parents[2] / "docs" / "asyncapi.json"


def test_the_file_does_not_drift() -> None:
    """If this fails: `python -m tachograph.schemas.asyncapi > docs/asyncapi.json`."""
    assert FILE.read_text(encoding="utf-8") == text()


def test_every_topic_is_a_channel() -> None:
    """A reader of the document sees every topic under its address."""
    channels = document()["channels"]
    assert [channel["address"] for channel in channels.values()] == [topic.name for topic in TOPICS]


def test_every_reference_resolves() -> None:
    """No dangling $ref."""
    whole = document()
    for reference in _references(whole):
        if reference.endswith(".avsc"):
            assert (FILE.parent / reference).exists()
            continue
        target: Any = whole
        for part in reference.removeprefix("#/").split("/"):
            target = target[part]
        assert target


def _references(node: Any) -> list[str]:
    if isinstance(node, dict):
        own = [node["$ref"]] if "$ref" in node else []
        return own + [reference for value in node.values() for reference in _references(value)]
    if isinstance(node, list):
        return [reference for value in node for reference in _references(value)]
    return []
