"""Every page, with the role it needs. What is not listed here is not answered."""

from typing import Final

from tachograph.console.web.pages import (
    access,
    agents,
    calls,
    health,
    objectives,
    own,
    query,
    records,
    run,
    runs,
    snapshots,
    violations,
)
from tachograph.console.web.pages.page import Page
from tachograph.console.web.roles import Role

PAGES: Final = (
    Page("/", own.home),
    Page("/logout", own.sign_out, method="POST"),
    Page("/theme", own.theme, method="POST"),
    Page("/runs", runs.runs),
    Page("/run", run.run),
    Page("/run/model-call", calls.model_call, role=Role.AUDITOR),
    Page("/run/tool-call", calls.tool_call, role=Role.AUDITOR),
    Page("/run/snapshot", snapshots.ask),
    Page("/run/snapshot", snapshots.show, method="POST", role=Role.AUDITOR),
    Page("/run/record", records.record),
    Page("/run/record/verify", records.verify, method="POST"),
    Page("/violations", violations.violations),
    Page("/slos", objectives.objectives),
    Page("/slo", objectives.objective),
    Page("/agents", agents.agents),
    Page("/health", health.health),
    Page("/dead-letter", health.dead_letter),
    Page("/dead-letter/content", health.content, method="POST", role=Role.AUDITOR),
    Page("/dead-letter/redrive", health.redrive, method="POST", role=Role.OPERATOR),
    Page("/query", query.form, role=Role.AUDITOR),
    Page("/query", query.ask, method="POST", role=Role.AUDITOR),
    Page("/access", access.access, role=Role.AUDITOR),
)

__all__ = ["PAGES", "Page"]
