"""Times, lengths, numbers and sizes as people say them. The same words on pages and in the terminal."""

from datetime import UTC, datetime
from typing import Final

_UNITS: Final = ((86_400, "d"), (3600, "h"), (60, "min"), (1, "s"))


def ago(moment: datetime | None, now: datetime) -> str:
    """How long before now, in one unit."""
    if moment is None:
        return "\u2013"
    seconds = (now - moment).total_seconds()
    if seconds < 0:
        return f"in {_in_one_unit(-seconds)}" if seconds < -1 else "now"
    return "now" if seconds < 1 else f"{_in_one_unit(seconds)} ago"


def _in_one_unit(seconds: float) -> str:
    size, unit = next((found for found in _UNITS if seconds >= found[0]), _UNITS[-1])
    return f"{int(seconds // size)} {unit}"


def exact(moment: datetime | None) -> str:
    """A moment to the millisecond, in UTC."""
    return "" if moment is None else moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3] + " UTC"


def clock(moment: datetime, now: datetime, *, timespec: str = "seconds") -> str:
    """A moment in UTC, to the second or finer; without the date on the day itself."""
    at = moment.astimezone(UTC)
    time = at.isoformat(sep=" ", timespec=timespec).removesuffix("+00:00")
    day, _, hours = time.partition(" ")
    return f"{hours if day == now.astimezone(UTC).date().isoformat() else time} UTC"


def duration(milliseconds: float | None) -> str:
    """A length of time with the unit that fits."""
    if milliseconds is None:
        return "\u2013"
    if not milliseconds:
        return "0"
    seconds = milliseconds / 1000
    if seconds < 1:
        return f"{milliseconds:.0f} ms"
    if seconds < 60:  # noqa: PLR2004 - a minute
        return f"{seconds:.1f} s".replace(".0 s", " s")
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:  # noqa: PLR2004 - an hour
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"


def number(value: float | None) -> str:
    """A number with thousands apart; a dash if there is none."""
    if value is None:
        return "\u2013"
    return f"{value:,}" if isinstance(value, int) else f"{value:,.2f}".rstrip("0").rstrip(".")


def size(count: int | None) -> str:
    """Bytes with the unit that fits."""
    if count is None:
        return "\u2013"
    for unit, bytes_each in (("MB", 1 << 20), ("KB", 1 << 10)):
        if count >= bytes_each:
            return f"{count / bytes_each:.1f} {unit}"
    return f"{count} B"


def percent(share: float | None, digits: int = 1) -> str:
    """A share of one."""
    return "\u2013" if share is None else f"{share * 100:,.{digits}f}\u202f%"
