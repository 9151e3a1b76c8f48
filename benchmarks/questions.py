"""The twenty questions of docs/queries.md, and an evaluation of all objectives, over two million rows."""

import re
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from benchmarks import dataset
from benchmarks.report import Figure, Ratio, Result, Skipped
from tachograph.console.database import Reader, reader
from tachograph.console.slo.counting import observe_all
from tachograph.console.slo.objective import Objective
from tachograph.console.slo.openslo import load_objectives
from tachograph.console.slo.shipped import shipped_folder
from tachograph.schemas.settings import Settings

PAGE: Final = Path(__file__).parents[1] / "docs" / "queries.md"
REPEATS: Final = 20
OBJECTIVES_MS: Final = 50
EVALUATIONS: Final = 2_000_000
"""Rows of the table that two of the objectives count; the others' tables have half a million at most."""
_COLD: Final = "SETTINGS use_query_condition_cache = 0"
"""The condition cache would answer the second time from memory of the first."""


def questions() -> dict[int, str]:
    """The page's queries by number; none if the page is not there."""
    text = PAGE.read_text(encoding="utf-8") if PAGE.is_file() else ""
    found = re.findall(r"^### (\d+)\. [^\n]*\n.*?^```sql\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    return {int(number): sql.strip() for number, sql in found}


def measure(settings: Settings, _folder: Path) -> list[Result]:
    """p95 of every question, warm. Machines differ and nobody set a goal: the figures are to be looked at."""
    asked = questions()
    if not asked:
        return [Skipped("questions", "docs/queries.md has none")]
    rows = dataset.make(settings)
    with reader(settings) as database:
        p95 = {number: p95_ms(lambda sql=sql: _ask(database, sql)) for number, sql in asked.items()}  # type: ignore[misc]
        floor = p95_ms(lambda: database.rows("SELECT 1"))
    return [
        Ratio(f"question {number} over {rows:,} rows, p95", found, "SELECT 1", floor, None, "ms")
        for number, found in p95.items()
    ]


def measure_objectives(settings: Settings, _folder: Path) -> list[Result]:
    """One evaluation of all shipped objectives over thirty days, from projections and, beside it, from rows."""
    rows = dataset.make(settings, evaluations=EVALUATIONS)
    objectives, at = load_objectives(shipped_folder()), int(time.time()) // 60 * 60
    with reader(settings) as database:
        ours = p95_ms(lambda: _evaluate(database, objectives, at), statistics.median)
        plain = _Plain(database)
        reference = p95_ms(lambda: _evaluate(plain, objectives, at), statistics.median)
    name = f"evaluation of {len(objectives)} objectives over 30 days, {rows:,} rows"
    return [
        Ratio(f"{name}, from counts", ours, "from rows", reference, None, "ms"),
        Figure(name, ours, OBJECTIVES_MS, "ms", at_most=True),
    ]


class _Plain:
    """A reader that does not use the counts."""

    def __init__(self, database: Reader) -> None:
        self._database = database

    def rows(self, sql: str, parameters: dict[str, Any]) -> Sequence[Sequence[Any]]:
        return self._database.rows(f"{sql.rstrip()}, optimize_use_projections = 0", parameters)


def _evaluate(database: Any, objectives: Sequence[Objective], at: int) -> None:
    for objective, observed in zip(objectives, observe_all(database, objectives, at), strict=True):
        assert isinstance(observed, list), observed
        assert observed, objective.name


def _ask(database: Reader, sql: str) -> None:
    database.rows(f"{sql}\n{_COLD}", {"tenant": dataset.TENANT, "run": dataset.RUN})


def p95_ms(ask: Callable[[], object], pick: Callable[[Sequence[float]], float] | None = None) -> float:
    """Milliseconds of the slow end of many answers, after one that warms up. ``pick`` chooses another figure."""
    ask()
    taken = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        ask()
        taken.append((time.perf_counter() - began) * 1000)
    return pick(taken) if pick is not None else statistics.quantiles(taken, n=20)[-1]
