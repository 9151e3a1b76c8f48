"""What became of the scenarios, and what of it is not there yet. The demo waits for results, not for time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from tachograph.console.database import Reader
from tachograph.console.demo.scenario import Scenario

_SQL: Final = """
SELECT run_id,
       any(status) AS status,
       any(completeness) AS completeness,
       (SELECT groupArray((run_id, code)) FROM
           (SELECT DISTINCT run_id, code FROM violations WHERE run_id IN {runs:Array(String)})) AS violations,
       (SELECT groupArray((run_id, snapshot_id)) FROM
           (SELECT DISTINCT run_id, snapshot_id FROM snapshots
            WHERE stored AND run_id IN {runs:Array(String)})) AS snapshots,
       (SELECT groupArray((run_id, status)) FROM
           (SELECT run_id, status FROM decision_records
            WHERE run_id IN {runs:Array(String)} ORDER BY run_id, seq)) AS records
FROM runs WHERE run_id IN {runs:Array(String)} GROUP BY run_id
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What the pipeline has made of one run so far."""

    status: str = ""
    completeness: str = ""
    violations: frozenset[str] = frozenset()
    snapshots: int = 0
    records: tuple[str, ...] = ()


def read_outcomes(database: Reader, run_ids: Sequence[str]) -> dict[str, Outcome]:
    """Outcomes by run, of those that have landed at all."""
    return {
        run_id: Outcome(
            status=status,
            completeness=completeness,
            violations=frozenset(code for owner, code in violations if owner == run_id),
            snapshots=sum(owner == run_id for owner, _ in snapshots),
            records=tuple(state for owner, state in records if owner == run_id),
        )
        for run_id, status, completeness, violations, snapshots, records in database.rows(_SQL, {"runs": list(run_ids)})
    }


def still_missing(scenario: Scenario, outcome: Outcome, parts: Sequence[str]) -> list[str]:
    """What is not yet as the scenario says, each with the process it is waited for. Pure.

    ``parts`` are the processes of the stack: nobody waits for what no process makes.
    """
    wanted: Mapping[str, tuple[object, object, str]] = {
        "status": (scenario.status, outcome.status, "worker"),
        "completeness": (scenario.completeness, outcome.completeness, "worker"),
        "violations": (_from(scenario.violations, parts), _from(outcome.violations, parts), "worker"),
        "snapshots": (scenario.snapshots, outcome.snapshots, "snapshots"),
        "records": (scenario.records, outcome.records, "sealer"),
    }
    return [
        f"{name} of {scenario.name} (log of the {part})"
        for name, (expected, found, part) in wanted.items()
        if part in parts and expected != found
    ]


def _from(codes: frozenset[str], parts: Sequence[str]) -> frozenset[str]:
    return codes if "sealer" in parts else frozenset(code for code in codes if not code.startswith("record."))
