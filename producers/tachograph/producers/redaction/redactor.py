"""Removing secrets from text and values before anything is stored. Fails closed: in doubt the content is dropped."""

import logging
from collections import Counter
from collections.abc import Callable
from typing import Final, TypeVar

from tachograph.producers.redaction.flat import flat_text
from tachograph.producers.redaction.results import (
    Budget,
    DropReason,
    Finding,
    Redacted,
    RedactedValue,
    RuleCount,
    dropped,
)
from tachograph.producers.redaction.rules import PATH_RULE, RulePack, default_pack
from tachograph.producers.redaction.safe import plain_text, safe_text

__all__ = ["Redactor", "explain"]

_log: Final = logging.getLogger(__name__)
_T = TypeVar("_T")


class Redactor:
    """Removes what the rules find. Immutable, safe to share between threads; compiles its rules when first used."""

    def __init__(self, rules: RulePack | None = None, budget: Budget | None = None) -> None:
        self._rules: Final = rules
        self.budget: Final = budget if budget is not None else Budget()

    def __repr__(self) -> str:
        return f"Redactor(budget={self.budget!r})"

    @property
    def pack(self) -> RulePack:
        """The rules; those of the package when none were given."""
        return self._rules if self._rules is not None else default_pack()

    def text(self, text: str, *, path: str | None = None) -> Redacted:
        """Return the text without secrets. ``path`` is the file it came from, if any.

        Redacting the result again changes nothing. Text in which nothing is found comes back as it was, but for NUL
        characters and halves of surrogate pairs, which not every store takes.
        """
        if path is None and type(text) is str and self._holds_nothing(text):
            return Redacted(text)
        result = _closed(lambda: self._text(text, path))
        return result if isinstance(result, Redacted) else Redacted(dropped(result), dropped_reason=result)

    def value(self, obj: object, *, path: str | None = None, key_names: bool = True) -> RedactedValue:
        """Return any Python value as JSON data without secrets, keys included. Never raises, whatever the value does.

        ``key_names=False`` takes no account of names of members, as is right for a JSON Schema.
        """
        if path is None and key_names:
            pack = self.pack
            flat = flat_text(obj, pack.is_secret_name, pack.path_keys)
            if flat is not None and self._holds_nothing(flat[1], flat[2]):
                return RedactedValue(flat[0])
        result = _closed(lambda: self._value(obj, path, key_names))
        return result if isinstance(result, RedactedValue) else RedactedValue(dropped(result), (), result)

    def plain(self, obj: object) -> RedactedValue:
        """Return any Python value as JSON data with nothing removed. The budget holds all the same."""
        result = _closed(lambda: self._plain(obj))
        return result if isinstance(result, RedactedValue) else RedactedValue(dropped(result), (), result)

    def path(self, path: str) -> bool:
        """Whether content of the file at this path is dropped whole."""
        return self.pack.is_secret_path(plain_text(path))

    def explain(self, text: str) -> list[Finding]:
        """Return what is found in a text, by place. A text beyond the budget is a ValueError."""
        from tachograph.producers.redaction.engine import Deadline  # noqa: PLC0415 - brings RE2

        data = safe_text(plain_text(text)).encode()
        if len(data) > self.budget.max_bytes:
            raise ValueError(f"a text over {self.budget.max_bytes} bytes is dropped unread")
        return self.pack.scanner.explain(data, Deadline(self.budget.max_seconds))

    def _holds_nothing(self, text: str, spent: int = 0) -> bool:
        """Whether a text can be stored as it is. False says nothing, and is what every failure comes to."""
        try:
            data = text.encode()
            return (
                len(data) + spent <= self.budget.max_bytes and b"\0" not in data and self.pack.scanner.at_a_glance(data)
            )
        except Exception:  # noqa: BLE001 - looked at closely then, where a failure drops the content
            return False

    def _text(self, text: str, path: str | None) -> Redacted | DropReason:
        from tachograph.producers.redaction.engine import Deadline  # noqa: PLC0415 - brings RE2

        if path is not None and self.path(path):
            return Redacted(dropped(DropReason.PATH), (RuleCount(PATH_RULE, 1),), DropReason.PATH)
        # Judged by characters first: a text of gigabytes is not even encoded.
        if len(text) > self.budget.max_bytes:
            return DropReason.BUDGET
        safe = safe_text(plain_text(text))
        data = safe.encode()
        if len(data) > self.budget.max_bytes:
            return DropReason.BUDGET
        redacted, counts = self.pack.scanner.redact(data, Deadline(self.budget.max_seconds), path)
        return Redacted(redacted.decode(), _sorted(counts)) if counts else Redacted(safe)

    def _value(self, obj: object, path: str | None, key_names: bool) -> RedactedValue | DropReason:
        from tachograph.producers.redaction.engine import Deadline  # noqa: PLC0415 - brings RE2
        from tachograph.producers.redaction.values import Walk, mapped  # noqa: PLC0415 - as above

        pack = self.pack
        if path is not None and self.path(path):
            return RedactedValue(dropped(DropReason.PATH), (RuleCount(PATH_RULE, 1),), DropReason.PATH)
        deadline = Deadline(self.budget.max_seconds)
        names = pack.is_secret_name if key_names else None
        walk = Walk(self.budget.max_bytes, deadline.check, names, pack.is_secret_path, pack.path_keys)
        value = walk.value(obj)
        counts = Counter(walk.counts)
        reason = DropReason.PATH if PATH_RULE in counts else None
        scanner = pack.scanner
        # Most values hold nothing: all their texts are judged in one go, and only then one by one.
        texts = "\n".join(walk.texts).encode()
        if not (scanner.at_a_glance(texts) or scanner.is_clean(texts)):
            known: dict[str, str] = {}

            def redact(text: str) -> str:
                if text not in known:
                    redacted, found = scanner.redact(text.encode(), deadline, path)
                    known[text] = redacted.decode() if found else text
                    counts.update(found)
                return known[text]

            value = mapped(value, redact)
        return RedactedValue(value, _sorted(counts), reason)

    def _plain(self, obj: object) -> RedactedValue:
        from tachograph.producers.redaction.engine import Deadline  # noqa: PLC0415 - brings RE2
        from tachograph.producers.redaction.values import Walk  # noqa: PLC0415 - as above

        deadline = Deadline(self.budget.max_seconds)
        return RedactedValue(Walk(self.budget.max_bytes, deadline.check).value(obj))


def explain(text: str) -> list[Finding]:
    """Return what the default rules find in a text, by place."""
    return Redactor().explain(text)


def _closed(work: Callable[[], _T | DropReason]) -> _T | DropReason:
    """Run the work. Whatever goes wrong in it, the content is dropped: nothing passes unread."""
    from tachograph.producers.redaction.engine import Timeout  # noqa: PLC0415 - brings RE2
    from tachograph.producers.redaction.scan import UnstableError  # noqa: PLC0415 - as above
    from tachograph.producers.redaction.values import TooLargeError  # noqa: PLC0415 - as above

    try:
        return work()
    except Timeout:
        return DropReason.TIMEOUT
    except TooLargeError:
        return DropReason.BUDGET
    except UnstableError:
        return DropReason.UNSTABLE
    except Exception as error:  # noqa: BLE001 - the text of the error may be content: only its type is told
        _log.warning("content dropped: the redactor failed (%s)", type(error).__name__)
        return DropReason.ERROR


def _sorted(counts: Counter[str]) -> tuple[RuleCount, ...]:
    return tuple(RuleCount(rule, count) for rule, count in sorted(counts.items()))
