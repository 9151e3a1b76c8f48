"""Names that make a value secret, as members of objects and as ``name=value`` in text."""

import functools
import re
from collections.abc import Callable
from typing import Final

from tachograph.producers.redaction.rules import KEY_RULE, Allowlist, KeyNames, Rule

__all__ = ["HEADER_RULE", "fold_name", "name_test", "text_rules"]

HEADER_RULE: Final = "header-value"
"""Rule id of headers in text whose value is the rest of the line."""

_SEPARATORS: Final = re.compile(r"[\s_.:-]+")
_TAIL: Final = 200  # characters of a name that are looked at: longer than any ending
_WINDOW: Final = 256
_EXACT_FORMS: Final = ("{}=", "{}:", "{} =", '{}"', "{}'", "-{} ")

# What may stand between a name and its value: a closing quote and bracket, a type in a declaration, then the sign.
_CLOSE: Final = r"(?:\\{0,4}[\"'\x60]\]?)?[ \t]{0,8}"
_TYPE: Final = r"(?::[ \t]{0,4}(?:str|string|bytes|text|any|secretstr|optional\[\w{1,20}\]|&(?:'static )?str)"
_DECLARED: Final = _TYPE + r"(?: \| none)?[ \t]{0,4}=|:=|=>|=|:)[ \t]{0,8}"
# Quoted values go up to their quote or, if it is missing, the end of the line. Bare ones end at what ends a parameter.
_QUOTED: Final = r"""\\{1,4}"((?:[^"\\\r\n]|\\[^"\r\n])*)|"((?:[^"\\\r\n]|\\.)*)|'((?:[^'\\\r\n]|\\.)*)"""
_REST_OF_LINE: Final = r"""(?:\\{0,4}["'])?([^"'\r\n\\\s][^"'\r\n\\]*)"""
_BARE: Final = r"""([^\s"'\x60=&;,<>(){}\[\]|\\][^\s"'\x60&;,]*)"""


def fold_name(name: str) -> str:
    """Return the name as it is compared: lower case, without separators."""
    return _SEPARATORS.sub("", name.casefold())


def name_test(names: KeyNames) -> Callable[[str], bool]:
    """Return a test that tells whether the value under a name is to be dropped."""
    endings = tuple(fold_name(name) for name in (*names.endings, *names.headers))
    exact = frozenset(fold_name(name) for name in names.exact)

    @functools.lru_cache(maxsize=4096)
    def short(name: str) -> bool:
        folded = fold_name(name)
        return folded.endswith(endings) or folded in exact

    def is_secret(name: str) -> bool:
        return short(name[-_TAIL:])

    return is_secret


def text_rules(names: KeyNames, match: tuple[str, ...], no_match: tuple[str, ...]) -> tuple[Rule, ...]:
    """Return the rules that find the names in text. They come after all others: a known token keeps its own name."""
    rules = []
    if names.headers:
        rules.append(
            Rule(
                HEADER_RULE,
                "Header whose value is a credential, to the end of the line",
                rf"(?i)\b(?:{_either(names.headers)}){_CLOSE}[:=][ \t]{{0,8}}{_REST_OF_LINE}",
                keywords=tuple(spelling for name in names.headers for spelling in _spellings(name)),
                window=_WINDOW,
                allowlists=(Allowlist(regexes=names.harmless),),
            )
        )
    if names.endings or names.exact:
        name = "|".join(filter(None, (_either(names.endings), rf"\b(?:{_either(names.exact)})" if names.exact else "")))
        rules.append(
            Rule(
                KEY_RULE,
                "Value under a name that says it is secret",
                rf"(?im)^[ \t]{{0,40}}(?:export[ \t]+)?[\w.-]{{0,80}}(?:{name})=([^\s\"'\x60=(){{}}\[\]<]\S*)"
                rf"|--?[\w-]{{0,40}}(?:{name})[ \t]{{1,8}}(?:{_QUOTED}|([^\s\"'\x60=&;,<>(){{}}\[\]|\\-]\S*))"
                rf"|(?:{name}){_CLOSE}{_DECLARED}(?:{_QUOTED}|{_BARE})",
                keywords=_keywords(names),
                window=_WINDOW,
                allowlists=(Allowlist(regexes=names.harmless),),
                match=match,
                no_match=no_match,
            )
        )
    return tuple(rules)


def _either(names: tuple[str, ...]) -> str:
    """Words of a name may be joined in any way: ``api key`` is api_key, api-key, apikey and api.key."""
    return "|".join("[_. -]?".join(re.escape(word) for word in re.split(r"[ _-]", name.lower())) for name in names)


def _keywords(names: KeyNames) -> tuple[str, ...]:
    """What the gate looks for. Exact names are common words, so the sign that follows is part of the keyword."""
    endings = (spelling for name in names.endings for spelling in _spellings(name))
    exact = (form.format(spelling) for name in names.exact for spelling in _spellings(name) for form in _EXACT_FORMS)
    return tuple(dict.fromkeys((*endings, *exact)))


def _spellings(name: str) -> list[str]:
    words = re.split(r"[ _-]", name.lower())
    return [joint.join(words) for joint in ("", "_", "-", ".", " ")] if len(words) > 1 else words
