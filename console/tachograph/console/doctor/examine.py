"""All checks, one after the other. A check that breaks is a finding, too."""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from tachograph.console.doctor.broker import check_broker, check_schemas
from tachograph.console.doctor.finding import Finding, fail
from tachograph.console.doctor.machine import check_disk, check_keys, check_spool
from tachograph.console.doctor.tables import check_tables
from tachograph.schemas.settings import Settings

Check = Callable[[Settings], Iterator[Finding]]

CHECKS: Final[tuple[tuple[str, Check], ...]] = (
    ("kafka", check_broker),
    ("schemas", check_schemas),
    ("clickhouse", check_tables),
    ("disk", check_disk),
    ("keys", check_keys),
    ("spool", check_spool),
)
"""In the order in which a person would look."""


def examine(
    settings: Settings,
    starting: Callable[[str], None] = lambda _: None,
    checks: Sequence[tuple[str, Check]] = CHECKS,
) -> list[Finding]:
    """Everything there is to find; ``starting`` hears of each group of checks before it begins."""
    found: list[Finding] = []
    for name, check in checks:
        starting(name)
        try:
            found += check(settings)
        except Exception as error:  # noqa: BLE001 - whatever a check meets, the others are still worth knowing
            todo = "this is a mistake in the check itself: please report it with the class of the error"
            found.append(fail(name, f"could not be looked at ({type(error).__name__})", todo))
    return found
