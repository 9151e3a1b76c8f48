"""Writes the table of metrics into docs/operations.md: ``python -m tachograph.schemas.metric_table [FILE]``."""

import sys
from pathlib import Path
from typing import Final

from tachograph.schemas.metrics import METRICS, Metric, MetricKind

BEGIN: Final = "<!-- metrics: written by python -m tachograph.schemas.metric_table -->"
END: Final = "<!-- end of metrics -->"


def metric_table() -> str:
    """Every metric under the name that Prometheus shows, as a Markdown table."""
    rows = [
        f"| `{_shown_name(metric)}` | {metric.kind.value} | "
        f"{', '.join(f'`{label}`' for label in metric.labels) or '-'} | {metric.help} |"
        for metric in METRICS
    ]
    return "\n".join(["| metric | kind | labels | meaning |", "|---|---|---|---|", *rows])


def with_table(page: str) -> str:
    """The page with the table as it is now. Raises ValueError if it has no place for it."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise ValueError(f"the page needs a line {BEGIN!r} and a line {END!r}")
    return f"{before}{BEGIN}\n{metric_table()}\n{END}{after}"


def _shown_name(metric: Metric) -> str:
    return f"{metric.name}_total" if metric.kind is MetricKind.COUNTER else metric.name


def main(arguments: list[str]) -> None:
    """Bring the page up to date, by default in its place in the project."""
    target = Path(arguments[0]) if arguments else Path("docs") / "operations.md"
    target.write_text(with_table(target.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
