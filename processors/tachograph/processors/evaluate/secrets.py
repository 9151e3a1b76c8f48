"""Shapes of secrets in what an agent produced, and the placeholders that redaction left where one was.

A small set: content is redacted with the full rules before it leaves the agent. This is what notices that a model said
a secret (its placeholder stands there), or that a producer captured in full mode or did not redact at all.
"""

import re
from typing import Final, NamedTuple

import ahocorasick_rs

_SHAPES: Final[tuple[tuple[str, tuple[str, ...], str], ...]] = (
    ("aws_access_key_id", ("AKIA", "ASIA"), r"(?:AKIA|ASIA)[A-Z2-7]{16}"),
    ("github_token", ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"), r"gh[pousr]_\w{36,}|github_pat_\w{60,}"),
    ("gitlab_token", ("glpat-",), r"glpat-[\w-]{20,}"),
    ("slack_token", ("xox",), r"xox[abeprs]-[\w-]{10,}"),
    ("google_api_key", ("AIza",), r"AIza[\w-]{35}"),
    ("private_key", ("-----BEGIN",), r"-----BEGIN [A-Z ]*PRIVATE KEY"),
    ("model_provider_key", ("sk-",), r"\bsk-(?:ant-|proj-|or-|svcacct-)?[\w-]{24,}"),
    ("stripe_key", ("_live_",), r"[sr]k_live_\w{16,}"),
    ("npm_token", ("npm_",), r"npm_\w{36}"),
    ("pypi_token", ("pypi-",), r"pypi-[\w-]{50,}"),
    ("huggingface_token", ("hf_",), r"\bhf_[A-Za-z]{30,}"),
    ("jwt", ("eyJ",), r"eyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{10,}"),
    ("url_password", ("://",), r"://[^\s/:@]{1,64}:[^\s/@]{3,128}@[\w.-]"),
    ("bearer_token", ("earer ",), r"[Bb]earer [\w.~+/-]{24,}"),
    (
        "redacted",
        ("[REDACTED:",),
        r"\[REDACTED:(?!email|phone-number|credit-card|iban|us-social-security-number)[\w-]+\]",
    ),
)
"""Name, keywords of which one must be there, expression."""


class Secret(NamedTuple):
    """Where a secret is, never what it is."""

    shape: str
    start: int
    end: int


_COMPILED: Final = tuple((name, re.compile(expression)) for name, _, expression in _SHAPES)
_KEYWORDS: Final = tuple((word, place) for place, (_, words, _) in enumerate(_SHAPES) for word in words)
_SHAPE_OF: Final = tuple(place for _, place in _KEYWORDS)
# One pass for all keywords; an expression runs only if its keyword is there.
_GATE: Final = ahocorasick_rs.AhoCorasick(
    [word for word, _ in _KEYWORDS], implementation=ahocorasick_rs.Implementation.DFA
)


def first_secret(text: str) -> Secret | None:
    """The secret that begins first, if there is one."""
    hits = _GATE.find_matches_as_indexes(text, overlapping=True)
    if not hits:
        return None
    found: Secret | None = None
    for place in sorted({_SHAPE_OF[keyword] for keyword, _, _ in hits}):
        name, expression = _COMPILED[place]
        match = expression.search(text)
        if match is not None and (found is None or match.start() < found.start):
            found = Secret(name, match.start(), match.end())
    return found
