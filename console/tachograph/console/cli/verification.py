"""``tachograph verify``: whether evidence holds, or what ClickHouse has, and whether anything is missing."""

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.progress import track

from tachograph.console.cli.output import ERR, JsonFlag, many, note, print_json, print_table
from tachograph.schemas.errors import ConfigError
from tachograph.schemas.settings import load_settings

if TYPE_CHECKING:
    from tachograph.console.verify.log import Finding, LogReport

EXIT_FAILED = 1

Trust = Annotated[
    str | None, typer.Option(help="First public key of the key set (base64), from elsewhere than what is checked.")
]
AnchorFiles = Annotated[
    list[Path] | None,
    typer.Option(
        "--anchor",
        exists=True,
        dir_okay=False,
        help="A checkpoint or heads record kept elsewhere, or a file of them. May be repeated.",
    ),
]
Tenant = Annotated[str, typer.Option("--tenant", help="Whose logs. [default: the tenant_id setting]")]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(verify)


def verify(
    evidence: Annotated[
        Path | None, typer.Argument(help="Evidence: a bundle, or a proof. Without it, the logs in ClickHouse.")
    ] = None,
    *,
    run: Annotated[str, typer.Option(help="The records of this run, and their logs.")] = "",
    record: Annotated[str, typer.Option(help="This record, and its log.")] = "",
    log: Annotated[str, typer.Option(help="This log: tenant and partition, as in `acme/0`.")] = "",
    complete: Annotated[
        bool, typer.Option("--complete", help="Also account for every record: counted, in Kafka, landed, sealed.")
    ] = False,
    hours: Annotated[int, typer.Option(min=1, help="With --complete and no --run: runs that began so long ago.")] = 24,
    tenant: Tenant = "",
    trust: Trust = None,
    anchor: AnchorFiles = None,
    as_json: JsonFlag = False,
) -> None:
    """Check every record, chain and checkpoint, and say on what basis they hold.

    Exit codes: 0 all holds, 1 something does not or is missing, 2 the call or the settings are wrong.
    """
    anchors = [path.read_text(encoding="utf-8", errors="replace") for path in anchor or ()]
    if evidence is not None:
        if run or record or log or complete:
            raise ConfigError("verify either evidence, or with --run, --record, --log and --complete what is stored")
        _evidence(evidence, trust, anchors, as_json=as_json)
    else:
        _stored(run, record, log, tenant, trust, anchors, hours if complete else 0, as_json=as_json)
    if trust is None:
        note("--trust was not given: what is checked vouches for its own keys")


def _evidence(path: Path, trust: str | None, anchors: list[str], *, as_json: bool) -> None:
    from tachograph.console.verify import read_bundle, report_bundle  # noqa: PLC0415 - imported where it is used

    report = report_bundle(read_bundle(path), trusted_key=trust, anchors=anchors)
    said: dict[str, Any] = report.as_json()
    if as_json:
        print_json(said)
    elif report.findings:
        _print_findings(report.findings)
    note(f"{many(report.records, 'record')}: {_outcome(report.findings)}; basis: {_counts(said['basis'])}")
    if report.not_shown:
        note(f"of {many(len(report.not_shown), 'more log')} that the anchor names nothing is shown")
    if report.findings:
        raise typer.Exit(EXIT_FAILED)


def _stored(  # noqa: PLR0917 - the options of one command
    run: str,
    record: str,
    log: str,
    tenant: str,
    trust: str | None,
    anchors: list[str],
    hours: int,
    *,
    as_json: bool,
) -> None:
    from tachograph.console.database import reader  # noqa: PLC0415 - imported where it is used
    from tachograph.console.verify.accounts import accounts  # noqa: PLC0415 - as above
    from tachograph.console.verify.stored import StoredLogs  # noqa: PLC0415 - as above
    from tachograph.console.verify.whole import check_logs  # noqa: PLC0415 - as above
    from tachograph.processors.sealing.key_set import key_set_of, read_key_set  # noqa: PLC0415 - as above

    settings = load_settings()
    owner = tenant or settings.tenant_id
    with reader(settings) as database:
        logs = StoredLogs(database, owner)
        named = logs.named(record or run, required=not hours) if record or run else []
        if log and log not in logs.names():
            raise ConfigError(f"there is no log {log} of tenant {owner}: `tachograph verify` lists them")
        wanted = [log] if log else sorted({item.log_id for item in named}) or logs.names()
        checked = check_logs(logs, _watched(wanted), read_key_set(key_set_of(settings)), trust, anchors)
        runs = list(accounts(database, settings, owner, run_id=run, hours=hours)) if hours else []
    missing = [item for account in runs for item in account.missing]
    findings = [item for report in checked.values() for item in report.findings]
    if as_json:
        print_json(
            {
                "logs": [_log(name, report) for name, report in checked.items()],
                "records": [
                    {"record_id": item.record_id, "log_id": item.log_id, "log_seq": item.log_seq}
                    | {"basis": checked[item.log_id].basis_at(item.log_seq)}
                    for item in named
                ],
                "runs": [account.as_json() for account in runs],
            }
        )
    else:
        rows = [[name, item.records, len(item.findings), _counts(item.basis())] for name, item in checked.items()]
        print_table(["log", "records", "findings", "basis"], rows)
        if findings:
            _print_findings(findings)
        records = sum(report.records for report in checked.values())
        note(f"{many(records, 'record')} in {many(len(checked), 'log')}: {_outcome(findings)}")
        for item in named:
            basis = checked[item.log_id].basis_at(item.log_seq)
            note(f"{item.record_id}: place {item.log_seq} of log {item.log_id}, on the basis of its {basis}")
        for lost in missing:
            note(f"missing in {lost.where}: {lost.what} (run {lost.run_id})")
    if runs:
        note(f"{many(len(runs), 'run')} accounted for, {len(missing)} missing")
    if findings or missing:
        raise typer.Exit(EXIT_FAILED)


def _print_findings(findings: Sequence["Finding"]) -> None:
    print_table(["where", "finding", "means"], [[item.where, item.code.value, item.meaning] for item in findings])


def _outcome(findings: Sequence["Finding"]) -> str:
    return many(len(findings), "finding") if findings else "all holds"


def _watched(names: Sequence[str]) -> Iterable[str]:
    """The same names; on a terminal with a bar while each is checked, because a long log takes a while."""
    return track(names, "  checking logs", console=ERR, transient=True, disable=not sys.stderr.isatty())


def _log(name: str, report: "LogReport") -> dict[str, Any]:
    return {
        "log_id": name,
        "records": report.records,
        "findings": [{"code": item.code.value, "place": item.place} for item in report.findings],
        "basis": report.basis(),
        "keys": dict(sorted(report.keys.items())),
    }


def _counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.items())
