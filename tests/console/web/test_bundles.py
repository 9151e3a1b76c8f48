"""What changed between two model calls."""

from typing import Any

from tachograph.console.web.bundles import bundle_diff


def bundle(*messages: tuple[str, str], tools: tuple[str, ...] = (), **changes: Any) -> dict[str, Any]:
    known = {"provider": "p", "model": "m", "temperature": 0.0, "top_p": None, "max_tokens": 10, "capture_mode": "full"}
    return {
        "messages": [{"role": role, "content": content} for role, content in messages],
        "tools": [{"name": name} for name in tools],
        **known,
        **changes,
    }


def test_a_conversation_that_goes_on() -> None:
    """What was said before is unchanged; the rest is new."""
    before = bundle(("system", "be calm"), ("user", "go"))
    diff = bundle_diff(before, bundle(("system", "be calm"), ("user", "go"), ("tool", "done"), ("user", "next")))
    assert [(change.kind, len(change.messages)) for change in diff.messages] == [("same", 2), ("added", 2)]
    assert diff.counts == {"same": 2, "added": 2, "removed": 0, "changed": 0}


def test_a_message_that_was_edited_shows_its_lines() -> None:
    """Line by line, with what was there before."""
    diff = bundle_diff(bundle(("system", "one\ntwo")), bundle(("system", "one\nthree")))
    assert [change.kind for change in diff.messages] == ["changed"]
    assert [line for line in diff.messages[0].lines if line[0] != " "] == [("-", "two"), ("+", "three")]


def test_a_huge_message_is_not_compared_line_by_line() -> None:
    """The comparison is quadratic; the page shows the message whole instead."""
    diff = bundle_diff(bundle(("user", "a\n" * 3000)), bundle(("user", "b\n" * 3000)))
    assert [(change.kind, list(change.lines)) for change in diff.messages] == [("changed", [])]


def test_tools_and_parameters() -> None:
    """Each that came, went or changed is named."""
    diff = bundle_diff(bundle(tools=("read", "write")), bundle(tools=("read", "run"), model="n"))
    assert (diff.tools_added, diff.tools_removed) == (["run"], ["write"])
    assert diff.parameters == [("model", "m", "n")]
