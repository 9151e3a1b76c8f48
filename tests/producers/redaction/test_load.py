"""Rule files: gitleaks' form is accepted, and what is not understood stops the start."""

import subprocess
import sys
from pathlib import Path

import pytest

from tachograph.producers.redaction import Redactor, RuleError, RulePack, load_rules

GITLEAKS = r"""
title = "a file of gitleaks"
minVersion = "v8.25.0"

[allowlist]
description = "shared"
paths = ['''(?i)\.lock$''']
regexes = ['''^acme-0+$''']

[[rules]]
id = "acme-token"
description = "Acme"
regex = '''(?i)\b(acme-[a-z0-9]{10})(?:['"\s;]|$)'''
entropy = 2
keywords = ["acme-"]
tags = ["token"]

[[rules.allowlists]]
regexTarget = "line"
regexes = ['''# sample''']

[[rules]]
id = "acme-pair"
regex = '''pair=(\w+):(\w+)'''
secretGroup = 2
keywords = ["pair="]
[rules.allowlist]
stopwords = ["changeme"]

[[rules]]
id = "acme-only-in-ini"
regex = '''ini-[0-9]{4}'''
path = '''\.ini$'''

[[rules]]
id = "acme-store"
path = '''(?i)\.acme-store$'''
"""


@pytest.fixture
def pack(tmp_path: Path) -> RulePack:
    file = tmp_path / "gitleaks.toml"
    file.write_text(GITLEAKS)
    return RulePack.load(file)


@pytest.mark.parametrize(
    ("text", "path", "expected"),
    [
        pytest.param("x acme-a1b2c3d4e5 y", None, "x [REDACTED:acme-token] y", id="the group is the secret"),
        pytest.param("x ACME-A1B2C3D4E5", None, "x [REDACTED:acme-token]", id="keywords know no case"),
        pytest.param("acme-aaaaaaaaaa", None, "acme-aaaaaaaaaa", id="too little entropy"),
        pytest.param("acme-0000000000", None, "acme-0000000000", id="allowed for all rules"),
        pytest.param("acme-a1b2c3d4e5 # sample", None, "acme-a1b2c3d4e5 # sample", id="allowed by its line"),
        pytest.param("acme-a1b2c3d4e5", "x.lock", "acme-a1b2c3d4e5", id="allowed by its path"),
        pytest.param("pair=ab:cd", None, "pair=ab:[REDACTED:acme-pair]", id="secretGroup"),
        pytest.param("pair=ab:changeme1", None, "pair=ab:changeme1", id="stopword"),
        pytest.param("ini-1234", "a.ini", "[REDACTED:acme-only-in-ini]", id="path fits"),
        pytest.param("ini-1234", "a.txt", "ini-1234", id="path does not fit"),
        pytest.param("ini-1234", None, "[REDACTED:acme-only-in-ini]", id="unknown path is no excuse"),
        pytest.param("anything", "x.acme-store", "[DROPPED:path]", id="rule that is a path only"),
    ],
)
def test_a_file_of_gitleaks_means_what_it_means_there(
    pack: RulePack, text: str, path: str | None, expected: str
) -> None:
    """Groups, entropy, allowlists, stopwords and paths."""
    assert Redactor(pack).text(text, path=path).text == expected


def test_rules_of_the_user_come_on_top_of_ours(tmp_path: Path) -> None:
    """Theirs name what both find; `useDefault` is gitleaks' way to ask for the same."""
    file = tmp_path / "mine.toml"
    file.write_text("[[rules]]\nid = 'house-mail'\nregex = '[a-z]+@example[.]org'\n")
    mixed = Redactor(load_rules(file)).text("ada@example.org, bob@example.com").text
    assert mixed == "[REDACTED:house-mail], [REDACTED:email]"
    alone = Redactor(load_rules(file, with_default=False)).text("ada@example.org, bob@example.com").text
    assert alone == "[REDACTED:house-mail], bob@example.com"
    file.write_text("[extend]\nuseDefault = true\n")
    assert Redactor(RulePack.load(file)).text("bob@example.com").text == "[REDACTED:email]"


def test_a_repeated_tail_is_followed_beyond_the_window(tmp_path: Path) -> None:
    """A token of any length goes whole."""
    file = tmp_path / "mine.toml"
    file.write_text("[[rules]]\nid = 'long'\nregex = 'tok-[a-z]{4,}'\nkeywords = ['tok-']\nwindow = 8\n")
    assert Redactor(RulePack.load(file)).text(f"a tok-{'x' * 300_000} b").text == "a [REDACTED:long] b"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param("[[rules]]\nid = 'look'\nregex = 'a(?=b)'", "rule look: RE2 does not take", id="lookahead"),
        pytest.param("[[rules]]\nid = 'none'", "rule none has neither a regex nor a path", id="nothing to look for"),
        pytest.param("[[rules]]\nid = 'Bad Id'\nregex = 'a'", "needs an id", id="id"),
        pytest.param("[[rules]]\nid = 'key-name'\nregex = 'a'", "none of ours", id="reserved id"),
        pytest.param("[[rules]]\nid = 'g'\nregex = 'a'\nsecretGroup = 1", "rule g has no group 1", id="group"),
        pytest.param("[[rules]]\nid = 'v'\nregex = 'a'\nvalidator = 'x'", "none of iban, jwt, luhn", id="validator"),
        pytest.param("[[rules]]\nid = 'k'\nregex = 'a'\nkeywords = 'b'", "keywords is a list of texts", id="keywords"),
        pytest.param(
            "[[rules]]\nid = 'e'\nregex = 'a'\nentropy = 'b'", "entropy has a value of the wrong type", id="type"
        ),
        pytest.param("[[rules]]\nid = 'r'\nregex = 'a'\nreplacement = 'A]'", "replacement", id="replacement"),
        pytest.param("[[rules]]\nid='a'\nregex='a'\n[rules.allowlist]\nregexes=['(']", "rule a: RE2", id="allowlist"),
        pytest.param("[keys]\nnames = ['x']", r"\[keys\] is a table of", id="unknown list"),
        pytest.param("rules = 1", "list of tables", id="rules"),
        pytest.param("[[", "is not TOML", id="not TOML"),
    ],
)
def test_a_file_that_is_not_understood_stops_the_start(tmp_path: Path, content: str, message: str) -> None:
    """The error names the file, the rule and what is wrong."""
    file = tmp_path / "mine.toml"
    file.write_text(content)
    with pytest.raises(RuleError, match=message) as caught:
        RulePack.load(file)
    assert "mine.toml" in str(caught.value)


def test_a_missing_file_stops_the_start(tmp_path: Path) -> None:
    """As it says."""
    with pytest.raises(RuleError, match="cannot be read"):
        RulePack.load(tmp_path / "none.toml")


def test_importing_compiles_nothing() -> None:
    """RE2, Aho-Corasick and TOML are brought by the first use, for the import's sake."""
    program = (
        "import sys, tachograph.producers.redaction, tachograph.producers.capture\n"
        "print(sorted({'re2', 'ahocorasick_rs', 'tomllib', 'pydantic'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
