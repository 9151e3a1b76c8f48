"""A decision record: what was decided and on what, where it is sealed, and whether that holds."""

from starlette.responses import Response

from tachograph.console.web.asked import Asked, PageError
from tachograph.console.web.database import Row
from tachograph.console.web.queries import records as queries
from tachograph.console.web.roles import Role
from tachograph.console.web.sealing_keys import NoKeySetError, key_set
from tachograph.console.web.verification import Finding, verified


def record(asked: Asked) -> Response:
    """The record alone explains the decision: outcome, evidence, policy, approvals, controls, lineage."""
    run_id, record_id = asked.query("run"), asked.query("record")
    content = bool(asked.query("content"))
    if content:
        asked.show_content("record", run_id=run_id, target=record_id)
    return _page(asked, run_id, record_id, content=content, findings=None, trouble="")


def verify(asked: Asked) -> Response:
    """Check it now, with the keys of this machine."""
    run_id, record_id = asked.form.get("run", ""), asked.form.get("record", "")
    sealed = queries.record(asked.database, run_id, record_id)
    if sealed is None:
        raise PageError(404, "There is no such sealed record in this run.")
    try:
        return _page(asked, run_id, record_id, content=False, findings=_findings(asked, sealed), trouble="")
    except NoKeySetError as error:
        return _page(asked, run_id, record_id, content=False, findings=None, trouble=str(error))


def _findings(asked: Asked, sealed: Row) -> list[Finding]:
    keys = key_set(asked.services.settings)
    log_id, place = sealed["log_id"], sealed["log_seq"]
    before, after = queries.neighbours(asked.database, log_id, place)
    head = queries.checkpoint(asked.database, log_id, place)
    hashes = queries.hashes(asked.database, log_id, head["tree_size"]) if head else []
    note = head["note"] if head else None
    return verified(sealed, before=before, after=after, hashes=hashes, note=note, keys=keys)


def _page(
    asked: Asked, run_id: str, record_id: str, *, content: bool, findings: list[Finding] | None, trouble: str
) -> Response:
    sealed = queries.record(asked.database, run_id, record_id)
    shown = sealed or queries.proposal(asked.database, run_id, record_id)
    if shown is None:
        raise PageError(404, "There is no such record in this run.")
    head = queries.checkpoint(asked.database, sealed["log_id"], sealed["log_seq"]) if sealed else None
    return asked.page(
        "record.html",
        record=shown,
        sealed=sealed is not None,
        checkpoint=head,
        findings=findings,
        trouble=trouble,
        content=content,
        may_see=asked.may(Role.AUDITOR),
    )
