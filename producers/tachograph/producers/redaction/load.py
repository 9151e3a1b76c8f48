"""Rule files: ours, and those in gitleaks' format. A file that is not understood stops the start, never a rule less."""

import re
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from tachograph.producers.redaction.engine import compile_regex
from tachograph.producers.redaction.errors import RuleError
from tachograph.producers.redaction.keys import HEADER_RULE, text_rules
from tachograph.producers.redaction.rules import (
    DEFAULT_RULES,
    KEY_RULE,
    PATH_RULE,
    Allowlist,
    KeyNames,
    PathNames,
    Rule,
    RulePack,
    Target,
)
from tachograph.producers.redaction.validators import VALIDATORS

__all__ = ["load_pack"]

_ID: Final = re.compile(r"[a-z0-9][a-z0-9-]{0,79}")
_RESERVED: Final = frozenset({KEY_RULE, PATH_RULE, HEADER_RULE})


def load_pack(files: list[Path]) -> RulePack:
    """Read the files into one pack, in their order; of rules with one id the first counts."""
    documents = _with_defaults(files)
    rules: dict[str, Rule] = {}
    path_regexes: list[str] = []
    shared: list[Allowlist] = []
    for file, document in documents:
        shared += _allowlists(document, f"{file.name}: allowlist")
        for table in _tables(document, "rules", file.name):
            rule = _rule(table, file.name, _typed(document, "window", int, 0, file.name))
            if not rule.regex:
                path_regexes.append(rule.path)
            elif rule.id not in rules:
                rules[rule.id] = rule
    keys = _section(documents, "keys", ("endings", "exact", "headers", "harmless", "match", "no_match"))
    paths = _section(documents, "paths", ("globs", "exceptions", "keys"))
    names = KeyNames(keys["endings"], keys["exact"], keys["headers"], keys["harmless"])
    return RulePack(
        (*rules.values(), *text_rules(names, keys["match"], keys["no_match"])),
        names,
        PathNames(paths["globs"], paths["exceptions"], tuple(path_regexes), paths["keys"]),
        tuple(shared),
    )


def _with_defaults(files: list[Path]) -> list[tuple[Path, Mapping[str, Any]]]:
    """Read the files; one that extends the defaults, in gitleaks' way of saying so, brings ours along."""
    documents = [(file, _document(file)) for file in files]
    extends = any((document.get("extend") or {}).get("useDefault") is True for _, document in documents)
    if extends and DEFAULT_RULES not in files:
        documents.append((DEFAULT_RULES, _document(DEFAULT_RULES)))
    return documents


def _document(file: Path) -> Mapping[str, Any]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise RuleError(f"the rule file {file.name} cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError):
        raise RuleError(f"the rule file {file.name} is not TOML") from None


def _rule(table: Mapping[str, Any], file: str, window: int) -> Rule:
    name = table.get("id")
    if not isinstance(name, str) or not _ID.fullmatch(name) or name in _RESERVED:
        raise RuleError(f"{file}: a rule needs an id of lower-case letters, digits and hyphens, and none of ours")
    where = f"{file}: rule {name}"
    rule = Rule(
        id=name,
        description=_typed(table, "description", str, "", where),
        regex=_typed(table, "regex", str, "", where),
        keywords=tuple(word.lower() for word in _texts(table, "keywords", where)),
        secret_group=_typed(table, "secretGroup", int, 0, where),
        entropy=float(_typed(table, "entropy", (int, float), 0.0, where)),
        path=_typed(table, "path", str, "", where),
        validator=_typed(table, "validator", str, "", where),
        label=_typed(table, "replacement", str, "", where),
        window=_typed(table, "window", int, window, where),
        allowlists=tuple(_allowlists(table, where)),
        match=_texts(table, "match", where),
        no_match=_texts(table, "no_match", where),
    )
    _check(rule, where)
    return rule


def _check(rule: Rule, where: str) -> None:
    if not rule.regex and not rule.path:
        raise RuleError(f"{where} has neither a regex nor a path")
    if rule.validator and rule.validator not in VALIDATORS:
        raise RuleError(f"{where} names a validator that is none of {', '.join(sorted(VALIDATORS))}")
    if rule.label and not _ID.fullmatch(rule.label):
        raise RuleError(f"{where} has a replacement that is no name of lower-case letters, digits and hyphens")
    if rule.window < 0 or "" in rule.keywords:
        raise RuleError(f"{where} has a negative window or an empty keyword")
    groups = compile_at(rule.regex, where) if rule.regex else 0
    if not 0 <= rule.secret_group <= groups:
        raise RuleError(f"{where} has no group {rule.secret_group} in its regex")
    if rule.path:
        compile_at(rule.path, where)


def compile_at(regex: str, where: str) -> int:
    """Compile an expression for its errors and its number of groups."""
    try:
        return compile_regex(regex).groups
    except RuleError as error:
        raise RuleError(f"{where}: {error}") from None


def _allowlists(table: Mapping[str, Any], where: str) -> list[Allowlist]:
    """Both of gitleaks' spellings: one table `allowlist`, or several `allowlists`."""
    single = table.get("allowlist")
    found = [single] if single is not None else []
    lists = [_allowlist(entry, where) for entry in (*found, *_tables(table, "allowlists", where))]
    return [entry for entry in lists if entry.regexes or entry.stopwords or entry.paths]


def _allowlist(entry: Any, where: str) -> Allowlist:
    if not isinstance(entry, dict):
        raise RuleError(f"{where} has an allowlist that is no table")
    target = _typed(entry, "regexTarget", str, "", where) or Target.SECRET
    if target not in tuple(Target):
        raise RuleError(f"{where} has a regexTarget that is none of {', '.join(Target)}")
    found = Allowlist(
        _texts(entry, "regexes", where),
        tuple(word.lower() for word in _texts(entry, "stopwords", where)),
        _texts(entry, "paths", where),
        Target(target),
        all_of=_typed(entry, "condition", str, "OR", where).upper() in {"AND", "&&"},
    )
    for regex in (*found.regexes, *found.paths):
        compile_at(regex, where)
    return found


def _section(
    documents: Iterable[tuple[Path, Mapping[str, Any]]], name: str, fields: tuple[str, ...]
) -> dict[str, tuple[str, ...]]:
    """Join the lists of one section over all files."""
    joined: dict[str, tuple[str, ...]] = dict.fromkeys(fields, ())
    for file, document in documents:
        table = document.get(name, {})
        if not isinstance(table, dict) or not set(table) <= set(fields):
            raise RuleError(f"{file.name}: [{name}] is a table of {', '.join(fields)}")
        for field in fields:
            joined[field] = tuple(dict.fromkeys((*joined[field], *_texts(table, field, f"{file.name}: [{name}]"))))
    return joined


def _tables(document: Mapping[str, Any], name: str, where: str) -> list[Any]:
    tables = document.get(name, [])
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise RuleError(f"{where}: {name} is a list of tables")
    return tables


def _texts(table: Mapping[str, Any], name: str, where: str) -> tuple[str, ...]:
    texts = table.get(name, [])
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise RuleError(f"{where}: {name} is a list of texts")
    return tuple(texts)


def _typed(table: Mapping[str, Any], name: str, kind: type | tuple[type, ...], default: Any, where: str) -> Any:
    value = table.get(name, default)
    if not isinstance(value, kind) or isinstance(value, bool):
        raise RuleError(f"{where}: {name} has a value of the wrong type")
    return value
