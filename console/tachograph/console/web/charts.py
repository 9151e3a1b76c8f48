"""Charts as SVG, rendered here. Colours come from the style sheet by class; no script, no inline style."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from markupsafe import Markup

from tachograph.console.web import display
from tachograph.console.web.waterfall import Bar, Waterfall

_LEAST: Final = 0.003
"""Width of the shortest bar: one that cannot be seen says less than one that is drawn too long."""
_KINDS: Final = frozenset({"step", "model", "action", "tool"})
WIDTH: Final = 720
HEIGHT: Final = 180
LEFT: Final = 56
BOTTOM: Final = 22
TOP: Final = 8


def bar(waterfall: Waterfall, item: Bar) -> Markup:
    """One bar of a waterfall."""
    left, width = waterfall.place(item)
    left, width = min(left, 1 - _LEAST), max(width, _LEAST)
    kind = item.kind if item.kind in _KINDS else "step"
    failed = " failed" if item.status in {"failed", "SYSTEM_ERROR"} else ""
    return Markup(
        '<svg class="bar" viewBox="0 0 1000 12" preserveAspectRatio="none" aria-hidden="true" focusable="false">'
        '<rect class="{}{}" x="{:.2f}" y="1" width="{:.2f}" height="10" rx="2"/></svg>'
    ).format(kind, failed, left * 1000, min(width, 1 - left) * 1000)


def meter(share: float | None, *, tone: str = "calm", label: str = "") -> Markup:
    """A share of one as a small bar."""
    known = max(0.0, min(1.0, share or 0.0))
    return Markup(
        '<svg class="meter" viewBox="0 0 100 6" preserveAspectRatio="none" role="img" aria-label="{}">'
        '<rect class="track" width="100" height="6" rx="3"/><rect class="fill {}" width="{:.1f}" height="6" rx="3"/>'
        "</svg>"
    ).format(label or display.percent(share), tone, known * 100)


def columns(values: Sequence[tuple[datetime, int, int]], *, label: str) -> Markup:
    """Counts over time with the bad ones in another colour: moment, bad, total."""
    most = max((total for _, _, total in values), default=0)
    if not most:
        return Markup("")
    each = (WIDTH - LEFT) / len(values)
    floor = HEIGHT - BOTTOM
    drawn = [_frame(label, str(most), "0")]
    for place, (moment, bad, total) in enumerate(values):
        x = LEFT + place * each
        high, low = (floor - TOP) * total / most, (floor - TOP) * bad / most
        drawn.append(
            Markup(
                '<g><title>{}: {} of {} bad</title><rect class="good" x="{:.1f}" y="{:.1f}" width="{:.1f}" '
                'height="{:.1f}"/><rect class="bad" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}"/></g>'
            ).format(
                display.exact(moment), bad, total,
                x, floor - high, max(each - 1, 0.5), high,
                x, floor - low, max(each - 1, 0.5), low,
            )
        )  # fmt: skip
    return _closed(drawn, values[0][0], values[-1][0])


def line(values: Sequence[tuple[datetime, float]], *, label: str, least: float = 0.0, most: float = 1.0) -> Markup:
    """A share over time, such as the budget that was left."""
    if len(values) < 2:  # noqa: PLR2004 - a line has two ends
        return Markup("")
    floor, span = HEIGHT - BOTTOM, most - least or 1.0
    step = (WIDTH - LEFT) / (len(values) - 1)
    points = " ".join(
        f"{LEFT + place * step:.1f},{floor - (floor - TOP) * (max(least, min(most, value)) - least) / span:.1f}"
        for place, (_, value) in enumerate(values)
    )
    drawn = [_frame(label, display.percent(most, 0), display.percent(least, 0))]
    if least < 0 < most:
        zero = floor - (floor - TOP) * (0 - least) / span
        drawn.append(
            Markup('<line class="zero" x1="{}" y1="{:.1f}" x2="{}" y2="{:.1f}"/>').format(LEFT, zero, WIDTH, zero)
        )
    drawn.append(Markup('<polyline class="line" points="{}"/>').format(points))
    return _closed(drawn, values[0][0], values[-1][0])


def _frame(label: str, top: str, bottom: str) -> Markup:
    floor = HEIGHT - BOTTOM
    return Markup(
        '<svg class="chart" viewBox="0 0 {} {}" role="img" aria-label="{}">'
        '<line class="axis" x1="{}" y1="{}" x2="{}" y2="{}"/>'
        '<text x="{}" y="{}" text-anchor="end">{}</text><text x="{}" y="{}" text-anchor="end">{}</text>'
    ).format(WIDTH, HEIGHT, label, LEFT, floor, WIDTH, floor, LEFT - 6, TOP + 8, top, LEFT - 6, floor, bottom)


def _closed(drawn: list[Markup], first: datetime, last: datetime) -> Markup:
    form = "%Y-%m-%d %H:%M"
    drawn.append(
        Markup('<text x="{}" y="{}">{}</text><text x="{}" y="{}" text-anchor="end">{}</text></svg>').format(
            LEFT, HEIGHT - 6, first.strftime(form), WIDTH, HEIGHT - 6, last.strftime(form)
        )
    )
    return Markup("").join(drawn)
