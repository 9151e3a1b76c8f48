"""Quiet hours: when they end, if they are now."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from tachograph.sinks.alerts.routes import DAYS, QuietHours


def quiet_until(quiet: QuietHours, now: float) -> float | None:
    """The moment at which the present quiet hours end, or None if it is not quiet.

    By the wall clock of the zone: where the clock is put back, the night is an hour longer.
    """
    zone = ZoneInfo(quiet.timezone)
    local = datetime.fromtimestamp(now, UTC).astimezone(zone)
    # Those that began yesterday may still last.
    for begins_on in (local.date() - timedelta(days=1), local.date()):
        if DAYS[begins_on.weekday()] not in quiet.days:
            continue
        ends_on = begins_on + timedelta(days=1) if quiet.end < quiet.start else begins_on
        start = datetime.combine(begins_on, quiet.start, zone).timestamp()
        end = datetime.combine(ends_on, quiet.end, zone).timestamp()
        if start <= now < end:
            return end
    return None
