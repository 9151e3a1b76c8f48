"""The rules in words, for people: docs/redaction.md is made from this."""

from typing import Final

from tachograph.producers.redaction.results import Budget
from tachograph.producers.redaction.rules import Rule, RulePack

__all__ = ["describe"]

_INTRO: Final = """\
# Redaction

<!-- Generated from the rules: python -m tachograph.producers.redaction.docs -->

In capture mode `redacted`, content passes these rules inside the agent's process, before the first byte reaches a disk
or a socket. What they find is replaced by `[REDACTED:name]` and counted by rule id; the value itself is kept nowhere.
`tachograph redact < text` shows what would go.

## Order

1. **Paths.** Content of a file that a path rule names is dropped whole: `[DROPPED:path]`. So are the other members of
   an object that names such a file.
2. **Names.** The value under a name such as `password` goes whatever it looks like, in objects and in text.
3. **Content.** One pass looks for the keywords of all rules; the expression of a rule is tried only near its keywords.
   Base64 and percent encoding are undone once, and what was hidden in them goes too.

The result is looked at again until nothing more is found, so redacting twice is the same as redacting once.

## When in doubt

A record has a budget of {max_bytes:,} bytes and {max_seconds:g} s of processor time. Content beyond it, or content on
which the redactor fails, is dropped and the record says why; metadata is kept:

| marker | meaning |
|---|---|
| `[DROPPED:budget]` | larger than the budget |
| `[DROPPED:timeout]` | not done in time |
| `[DROPPED:path]` | from a file that a path rule names |
| `[DROPPED:error]` | the redactor failed, or the value could not be read |
| `[DROPPED:unstable]` | redaction kept finding more |

## Your own rules

`load_rules("mine.toml")` puts rules of your own before these. The file has the form of gitleaks' configuration
(`[[rules]]` with `id`, `regex`, `keywords`, `secretGroup`, `entropy`, `path`, `[rules.allowlist]`), and a file of
gitleaks is accepted as it is. Expressions are RE2's; one that RE2 does not take stops the start with the rule's id.
Additions: `match` and `no_match` (samples), `validator` (`luhn`, `iban`, `jwt`), `replacement` (another name in the
placeholder), `window` (bytes around a keyword that a match needs), and the sections `[keys]` and `[paths]`.

## What it does not do

Rules find forms, not meaning: a password in a sentence, a name, a street, a secret split over two messages or encoded
twice are not found. Addresses of machines (IPv4, IPv6) are left alone: in an agent's work they are mostly versions,
loopback and documentation. Where that is not enough, use capture mode `hashed`.
"""


def describe(pack: RulePack, budget: Budget | None = None) -> str:
    """Return the rules of a pack as a page in Markdown."""
    limits = budget if budget is not None else Budget()
    lines = [
        _INTRO.format(max_bytes=limits.max_bytes, max_seconds=limits.max_seconds),
        "## Names\n",
        "Compared without case and separators.\n",
        f"The name ends with {_listed(pack.keys.endings)}; or it is {_listed(pack.keys.exact)}.\n",
        f"In text, the rest of the line goes after {_listed(pack.keys.headers)}.\n",
        "## Paths\n",
        f"{_listed(pack.paths.globs)}.\n",
        f"Kept: {_listed(pack.paths.exceptions)}.\n",
        f"## Content: {len(pack.rules)} rules\n",
        "| rule | finds | keywords | check |",
        "|---|---|---|---|",
        *(_row(rule) for rule in pack.rules),
        "",
    ]
    return "\n".join(lines)


def _row(rule: Rule) -> str:
    shown = rule.keywords[:_SHOWN_KEYWORDS]
    more = ", …" if len(rule.keywords) > len(shown) else ""
    checks = [rule.validator] if rule.validator else []
    if rule.entropy:
        checks.append(f"entropy over {rule.entropy:g}")
    keywords = f"{_listed(shown)}{more}" if shown else "none: all text is searched"
    return f"| `{rule.id}` | {rule.description} | {keywords} | {', '.join(checks)} |"


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(f"`{name}`" for name in names) if names else "nothing"


_SHOWN_KEYWORDS: Final = 6
