"""Text: what is replaced, what is not, and how it fails."""

import base64
import urllib.parse

import pytest

from tachograph.producers.redaction import Budget, DropReason, Redactor, RuleCount, RulePack, explain
from tachograph.producers.redaction.samples import expand

TOKEN = expand("ghp_{{W:36}}")
REDACTOR = Redactor()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("password=hunter2", "password=[REDACTED:key-name]", id="name and value"),
        pytest.param("DB_PASSWORD=a,b;c&d e", "DB_PASSWORD=[REDACTED:key-name] e", id="line of an .env file"),
        pytest.param("?api_key=abc&page=2", "?api_key=[REDACTED:key-name]&page=2", id="parameter of an address"),
        pytest.param('{"token": "a \\" b", "x": 1}', '{"token": "[REDACTED:key-name]", "x": 1}', id="JSON"),
        pytest.param('"{\\"secret\\": \\"ab\\"}"', '"{\\"secret\\": \\"[REDACTED:key-name]\\"}"', id="JSON in JSON"),
        pytest.param("Authorization: Bearer a b\nX: y", "Authorization: [REDACTED:header-value]\nX: y", id="header"),
        pytest.param("Cookie: a=b; c=d", "Cookie: [REDACTED:header-value]", id="cookie"),
        pytest.param("run --token abc now", "run --token [REDACTED:key-name] now", id="option of a command"),
        pytest.param("max_tokens=12 token_count: 3", "max_tokens=12 token_count: 3", id="only looks like a name"),
        pytest.param("password: str = 'x'", "password: str = '[REDACTED:key-name]'", id="declaration with a type"),
        pytest.param(f"x{TOKEN}", "x[REDACTED:github-token]", id="glued to a word"),
        pytest.param(f"https://a:{TOKEN}@h/p", "https://a:[REDACTED:github-token]@h/p", id="the particular rule names"),
        pytest.param(f"Ünï {TOKEN} ✓", "Ünï [REDACTED:github-token] ✓", id="beyond ASCII"),
        pytest.param("a\0b\ud800c", "a\ufffdb\ufffdc", id="NUL and half a surrogate pair"),
        pytest.param(f"[REDACTED:{TOKEN}]", "[REDACTED:[REDACTED:github-token]]", id="a disguise"),
    ],
)
def test_what_is_replaced(text: str, expected: str) -> None:
    """The secret goes, and what is around it stays."""
    assert REDACTOR.text(text).text == expected


def test_findings_are_counted_by_rule() -> None:
    """Rule ids and totals, never values."""
    result = REDACTOR.text(f"{TOKEN} {TOKEN} password=x")
    assert result.findings == (RuleCount("github-token", 2), RuleCount("key-name", 1))
    assert TOKEN not in repr(result)
    assert "[REDACTED" not in repr(result)


@pytest.mark.parametrize("offset", range(5))
def test_base64_is_undone_once(offset: int) -> None:
    """A secret in base64 is found wherever the encoded stretch begins."""
    encoded = base64.b64encode(f"user and {TOKEN} and more".encode()).decode().rstrip("=")
    result = REDACTOR.text(f"data {'Z' * offset}{encoded} end")
    assert result.text == "data [REDACTED:github-token] end"


def test_base64_of_utf16_is_undone() -> None:
    """PowerShell encodes its commands so."""
    encoded = base64.b64encode(f"login {TOKEN}".encode("utf-16-le")).decode()
    assert REDACTOR.text(f"powershell -enc {encoded}").findings == (RuleCount("github-token", 1),)


def test_percent_encoding_is_undone_once() -> None:
    """Only the secret goes; the address stays readable."""
    quoted = urllib.parse.quote("bob@example.org", safe="")
    expected = "https://h/a%20b?mail=[REDACTED:email]&next=%2F"
    assert REDACTOR.text(f"https://h/a%20b?mail={quoted}&next=%2F").text == expected
    everything = "".join(f"%{byte:02x}" for byte in TOKEN.encode())
    assert REDACTOR.text(f"q={everything}").text == "q=[REDACTED:github-token]"


def test_explain_counts_characters() -> None:
    """Offsets are those of the text that was given, not of its bytes."""
    text = f"ü✓𝄞 {TOKEN} ü password=x"
    assert [(item.rule_id, text[item.start : item.end]) for item in explain(text)] == [
        ("github-token", TOKEN),
        ("key-name", "x"),
    ]


def test_a_file_that_a_path_rule_names_is_dropped() -> None:
    """Whatever it holds."""
    result = REDACTOR.text("HELLO=world", path="/srv/app/.env")
    assert (result.text, result.dropped_reason) == ("[DROPPED:path]", DropReason.PATH)


@pytest.mark.parametrize(
    ("path", "secret"),
    [
        (".env", True),
        ("a/.env.production", True),
        ("a/.env.example", False),
        ("C:\\Users\\x\\.AWS\\credentials", True),
        ("credentials", False),
        ("file:///home/x/.ssh/id_ed25519", True),
        ("/home/x/.ssh/id_ed25519.pub", False),
        ("certs/server.PEM", True),
        (".npmrc", True),
        ("src/environment.py", False),
        ("", False),
    ],
)
def test_paths(path: str, secret: bool) -> None:
    """Names of files and ends of paths, in any spelling."""
    assert REDACTOR.path(path) is secret


def test_more_than_the_budget_is_dropped_unread() -> None:
    """32 MB come back at once, without content and with the reason."""
    result = REDACTOR.text(f"{TOKEN} word " * (32 * 1024 * 1024 // 46))
    assert (result.text, result.findings, result.dropped_reason) == ("[DROPPED:budget]", (), DropReason.BUDGET)


@pytest.mark.parametrize(
    "text",
    [
        "@" * 2_000_000,
        "password=x " * 200_000,
        "%40a" * 500_000,
        "QUtJQUFC" * 250_000,
        "4111 1111 1111 1112 " * 100_000,
    ],
    ids=["hits only", "findings only", "percent", "base64", "numbers"],
)
def test_no_time_left_drops_the_content(text: str) -> None:
    """Hostile text meets the deadline inside of each stage, and nothing of it is kept."""
    result = Redactor(budget=Budget(max_seconds=1e-9)).text(text)
    assert (result.text, result.findings, result.dropped_reason) == ("[DROPPED:timeout]", (), DropReason.TIMEOUT)


def test_a_fault_of_the_redactor_drops_the_content(caplog: pytest.LogCaptureFixture) -> None:
    """Fails closed: the log names the kind of error, the result holds nothing."""
    broken = RulePack(rules=(None,))  # type: ignore[arg-type]
    result = Redactor(broken).text(TOKEN)
    assert (result.text, result.dropped_reason) == ("[DROPPED:error]", DropReason.ERROR)
    assert "AttributeError" in caplog.text
    assert TOKEN not in caplog.text
    assert Redactor().text(None).dropped_reason is DropReason.ERROR  # type: ignore[arg-type]


def test_explain_refuses_what_would_be_dropped() -> None:
    """With an error that has no content."""
    with pytest.raises(ValueError, match="over 4 bytes") as caught:
        Redactor(budget=Budget(max_bytes=4)).explain(TOKEN)
    assert TOKEN not in str(caught.value)
