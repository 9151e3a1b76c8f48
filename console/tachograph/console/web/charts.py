"""Charts as SVG, rendered here. Colours come from the style sheet by class; no script, no inline style."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from markupsafe import Markup

from tachograph.console import spoken
from tachograph.console.web.waterfall import Bar, Waterfall

_LEAST: Final = 0.003
"""Width of the shortest bar: one that cannot be seen says less than one that is drawn too long."""
_NEAR_THE_END: Final = 0.04
"""A label that begins here would be cut off, so it ends at its mark instead."""
_KINDS: Final = frozenset({"step", "model", "action", "tool"})
WIDTH: Final = 1000
HEIGHT: Final = 100
"""Units of a chart's own coordinates. It is stretched to the room it gets; its words stand beside it as text."""


def bar(waterfall: Waterfall, item: Bar) -> Markup:
    """One bar of a waterfall; a dot for what has no length. Its place is in percent, so that nothing is distorted."""
    left, width = waterfall.place(item)
    kind = item.kind if item.kind in _KINDS else "step"
    failed = " failed" if item.status in {"failed", "SYSTEM_ERROR"} else ""
    if item.is_moment:
        drawn = Markup('<circle class="{}{}" cx="{:.2f}%" cy="6" r="4"/>').format(kind, failed, left * 100)
    else:
        left, width = min(left, 1 - _LEAST), max(width, _LEAST)
        drawn = Markup('<rect class="{}{}" x="{:.2f}%" y="1" width="{:.2f}%" height="10" rx="2"/>').format(
            kind, failed, left * 100, min(width, 1 - left) * 100
        )
    return Markup('<svg class="bar" aria-hidden="true" focusable="false">{}</svg>').format(drawn)


def axis(waterfall: Waterfall) -> Markup:
    """Time since the beginning, above the bars."""
    last = 1 - _NEAR_THE_END
    labels = Markup("").join(
        Markup('<text x="{:.2f}%" y="11" class="{}">{}</text>').format(
            share * 100, "first" if not share else "last" if share > last else "", spoken.duration(milliseconds)
        )
        for share, milliseconds in waterfall.marks
    )
    return Markup('<svg class="axis" aria-hidden="true" focusable="false">{}</svg>').format(labels)


def rules(waterfall: Waterfall) -> Markup:
    """Lines behind the bars, one below each mark of the axis."""
    lines = Markup("").join(
        Markup('<line x1="{0:.2f}%" x2="{0:.2f}%" y1="0" y2="100%"/>').format(share * 100)
        for share, _ in waterfall.marks
    )
    return Markup('<svg class="rules" aria-hidden="true" focusable="false">{}</svg>').format(lines)


def meter(share: float | None, *, tone: str = "calm", label: str = "") -> Markup:
    """A share of one as a small bar."""
    known = max(0.0, min(1.0, share or 0.0))
    return Markup(
        '<svg class="meter" viewBox="0 0 100 6" preserveAspectRatio="none" role="img" aria-label="{}">'
        '<rect class="track" width="100" height="6" rx="3"/><rect class="fill {}" width="{:.1f}" height="6" rx="3"/>'
        "</svg>"
    ).format(label or spoken.percent(share), tone, known * 100)


def columns(values: Sequence[tuple[datetime, int, int]], *, label: str) -> Markup:
    """Counts over time with the bad ones in another colour: moment, bad, total."""
    most = max((total for _, _, total in values), default=0)
    if not most:
        return Markup("")
    each = WIDTH / len(values)
    drawn = []
    for place, (moment, bad, total) in enumerate(values):
        x, high, low = place * each, HEIGHT * total / most, HEIGHT * bad / most
        drawn.append(
            Markup("<g><title>{}: {} of {} bad</title>{}{}</g>").format(
                spoken.exact(moment), bad, total, _column("good", x, each, high), _column("bad", x, each, low)
            )
        )
    return _figure(Markup("").join(drawn), label, (spoken.number(most), "0"), (values[0][0], values[-1][0]))


def _column(kind: str, x: float, width: float, height: float) -> Markup:
    return Markup('<rect class="{}" x="{:.2f}" y="{:.2f}" width="{:.2f}" height="{:.2f}"/>').format(
        kind, x, HEIGHT - height, width * 0.85, height
    )


def line(values: Sequence[tuple[datetime, float]], *, label: str, least: float = 0.0, most: float = 1.0) -> Markup:
    """A share over time, such as the budget that was left. What lies outside is drawn at the edge."""
    if len(values) < 2:  # noqa: PLR2004 - a line has two ends
        return Markup("")
    span, step = most - least or 1.0, WIDTH / (len(values) - 1)
    points = " ".join(
        f"{place * step:.2f},{HEIGHT - HEIGHT * (max(least, min(most, value)) - least) / span:.2f}"
        for place, (_, value) in enumerate(values)
    )
    drawn = Markup('<polyline class="line" points="{}"/>').format(points)
    if least < 0 < most:
        zero = HEIGHT - HEIGHT * (0 - least) / span
        drawn += Markup('<line class="zero" x1="0" y1="{:.2f}" x2="{}" y2="{:.2f}"/>').format(zero, WIDTH, zero)
    ends = spoken.percent(most, 0), spoken.percent(least, 0)
    return _figure(drawn, label, ends, (values[0][0], values[-1][0]))


def _figure(drawn: Markup, label: str, scale: tuple[str, str], times: tuple[datetime, datetime]) -> Markup:
    form = "%Y-%m-%d %H:%M UTC"
    return Markup(
        '<figure class="chart"><div class="scale"><span>{}</span><span>{}</span></div>'
        '<svg viewBox="0 0 {} {}" preserveAspectRatio="none" role="img" aria-label="{}">{}</svg>'
        '<figcaption class="times"><span>{}</span><span>{}</span></figcaption></figure>'
    ).format(*scale, WIDTH, HEIGHT, label, drawn, times[0].strftime(form), times[1].strftime(form))
