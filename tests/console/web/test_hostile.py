"""Everything an agent wrote is hostile: it is shown, on every page, and nothing of it runs, breaks or hides."""

import html
import re

import pytest

from tests.console.web.site import HOSTILE, WORD, Site, signed_in

pytestmark = [pytest.mark.stack, pytest.mark.timeout(300)]

TAG = re.compile(r"<(/?[a-zA-Z][a-zA-Z0-9]*)((?:\s[^<>]*)?)>")
OURS = re.compile(
    "(html|head|meta|title|link|script|body|a|header|nav|ul|ol|li|div|span|form|input|button|main|p|h1|h2|h3|img|svg|rect|"
    "circle|text|polyline|line|g|dl|dt|dd|table|caption|thead|tbody|tr|th|td|label|select|option|section|details|summary|code|strong|"
    "pre|time|textarea|figure|figcaption)"
)
"""Every tag of our templates."""


def test_what_is_hostile_is_only_ever_text(site: Site) -> None:
    """No tag, handler, style or address on any page but our own; no control character that was not made visible."""
    with signed_in(site.app(), site.hostile) as browser:
        for name, page in site.pages(site.hostile).items():
            answer = browser.visit(*page)
            assert answer.status_code in {200, 303, 400, 409}, (name, answer.status_code)
            for tag, attributes in TAG.findall(answer.text):
                assert OURS.fullmatch(tag.strip("/").lower()), (name, tag)
                unquoted = re.sub(r'"[^"]*"|\'[^\']*\'', '""', attributes)
                assert not re.search(r"\son\w+\s*=|\sstyle\s*=|\ssrcdoc", unquoted), (name, tag, attributes[:200])
            for address in re.findall(r'(?:href|src|action)="([^"]*)"', answer.text):
                assert re.match(r"^(/[^/\\]|/$|#)", html.unescape(address)), (name, address[:100])
            assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f\u200b\u202e\u2066]", answer.text), name
            assert "<script>window" not in answer.text, name
            assert "1337" not in answer.text, name
            assert "<script" not in re.sub(r'<script src="/static/console.js" defer></script>', "", answer.text), name


def test_what_is_hostile_is_not_hidden(site: Site) -> None:
    """Pages show it, escape sequences and overrides as what they are, and say what was cut."""
    with signed_in(site.app(), site.hostile) as browser:
        pages = site.pages(site.hostile)
        for name in ("run", "run-content", "model-call", "tool-call", "violations", "record-content", "access"):
            text = html.unescape(browser.visit(*pages[name]).text)
            assert "<script>window.hacked=1</script>" in text, name
            assert "⟨ESC⟩[31mred" in text, name
        for name in ("run-content", "model-call", "tool-call"):
            text = html.unescape(browser.visit(*pages[name]).text)
            assert "⟨U+202E⟩gnp.exe" in text, name
            assert "zero⟨U+200B⟩width" in text, name
            assert "⟨NUL⟩null⟨DEL⟩" in text, name
        runs = html.unescape(browser.visit(*pages["runs"]).text)
        assert re.search(r"6\d,\d{3} more characters", runs), "a word as long as the tables take"
        assert len(runs) < WORD


def test_a_line_of_a_megabyte_is_shown_in_parts(site: Site) -> None:
    """All of it, without stopping the browser."""
    with signed_in(site.app(), site.hostile) as browser:
        snapshot = {"run": HOSTILE, "id": f"big {HOSTILE}"}
        assert "Show the content" in browser.get("/run/snapshot", params=snapshot).text
        parts = [
            html.unescape(browser.visit("POST", "/run/snapshot", snapshot | {"part": str(n)}).text) for n in range(5)
        ]
    assert "in 5 parts; this is part 1" in parts[0]
    assert "<script>window.hacked=1</script>" in parts[0]
    assert sum(len(re.findall("m", "".join(re.findall("m{100,}", part)))) for part in parts) == 1 << 20


def test_bytes_that_are_no_record_can_be_read(site: Site) -> None:
    """A dead letter is shown as what it is, with what cannot be decoded spelled out."""
    with signed_in(site.app(), site.hostile) as browser:
        text = html.unescape(browser.visit(*site.pages(site.hostile)["dead-letter-content"]).text)
    assert "⟨NUL⟩<script>window.hacked=1</script> not avro \\xff\\xfe" in text
