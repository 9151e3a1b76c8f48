"""Judges every DecisionEvent by the rule packs and by the constraints of its request. Pure: no clock, no I/O."""

from typing import Any, Final, NamedTuple

from tachograph.processors.bounds import short, short_or_none
from tachograph.processors.evaluate.catalog import RulePacks
from tachograph.processors.evaluate.constraints import SEVERITY_OF, compile_rule
from tachograph.processors.evaluate.facts import RunFacts
from tachograph.processors.evaluate.globs import name_matcher
from tachograph.processors.evaluate.packs import Rule
from tachograph.processors.evaluate.registry import CheckFunction
from tachograph.processors.evaluate.results import (
    MILD,
    NO_ACTION,
    SIDES,
    Check,
    Evaluation,
    Finding,
    Outcome,
    Side,
    Status,
    side_result,
)
from tachograph.processors.evaluate.subject import Subject, changed_paths

_MOST_PLANS: Final = 1024
"""Combinations of environment, action and agent whose rules are remembered."""
_MOST_CONSTRAINTS: Final = 64
"""Constraints of one event that are judged; the rest is reported as unknown."""
_STOPPED: Final = frozenset({"skip", "abort"})
_BROKEN: Final = "the check failed on this event; report the rule's id to whoever maintains it"


class _Planned(NamedTuple):
    """A rule with what can be said before the event is known."""

    id: str
    kind: Side
    severity: str
    run: CheckFunction
    message: str
    code: str
    constraint_id: str | None
    verdict: Status
    passed: Check
    side: int


class Evaluator:
    """Evaluates events of many runs; what it remembers of a run is in that run's facts.

    ::

        evaluator = Evaluator(RulePacks.load())
        evaluator.observe(facts, "RunStarted", record)
        evaluation = evaluator.evaluate(facts, event)
    """

    def __init__(self, catalog: RulePacks) -> None:
        self._catalog = catalog
        self._rules: tuple[Rule, ...] = ()
        self._plans: dict[tuple[str, str, str], list[_Planned]] = {}
        self._constraints: dict[tuple[str, str, str], _Planned] = {}

    def observe(self, facts: RunFacts, name: str, record: dict[str, Any]) -> None:
        """Take from a record of another type what later checks need. Types that change no facts are passed over."""
        if name == "ToolCallRecord":
            _observe_tool_call(facts, record)
        elif name == "RunStarted":
            request = record["request"]
            context = request["context"]
            facts.environment = short(record["environment"] or "")
            facts.capture_mode = short(record["capture_mode"] or "")
            facts.repo = short_or_none(context["repo"])
            facts.branch = short_or_none(context["branch"])
            facts.demand(request["constraints"])

    def evaluate(self, facts: RunFacts, event: dict[str, Any]) -> Evaluation:
        """Apply the event to the facts and judge it. What the agent said of itself is neither read nor changed."""
        rules, packs = self._catalog.in_force
        if rules is not self._rules:
            self._rules = rules
            self._plans.clear()
        _apply(facts, event)
        subject = Subject(event, facts)
        sides: tuple[list[Check], list[Check], list[Check]] = ([], [], [])
        findings: list[Finding] = []
        planned = self._plan(subject)
        demanded = self._demanded(facts, event, sides, findings)
        if demanded:
            planned = planned + demanded
        for rule in planned:
            try:
                outcome = rule.run(subject)
            except Exception:  # noqa: BLE001 - one odd value in one event must not cost the other verdicts
                sides[rule.side].append(Check(rule.id, "unknown", _BROKEN, rule.constraint_id))
                continue
            if outcome is None:
                continue
            status = outcome[0]
            if status == "pass":
                sides[rule.side].append(rule.passed)
                continue
            message = outcome[1]
            if status == "unknown":
                sides[rule.side].append(Check(rule.id, "unknown", message, rule.constraint_id))
                continue
            message = rule.message or message
            sides[rule.side].append(Check(rule.id, rule.verdict, message, rule.constraint_id))
            findings.append(_finding(rule, message, outcome, event, facts))
        return Evaluation(side_result(sides[0]), side_result(sides[1]), side_result(sides[2]), findings, packs)

    def _plan(self, subject: Subject) -> list[_Planned]:
        """Rules of the packs that can apply here."""
        key = (subject.environment, subject.action_type, subject.event["agent_id"])
        plan = self._plans.get(key)
        if plan is None:
            plan = [
                _planned(
                    rule.id, rule.kind, rule.severity, rule.run, message=rule.message, name=rule.id, constraint_id=None
                )
                for rule in self._rules
                if (not rule.environments or key[0] in rule.environments)
                and (not rule.actions or key[1] in rule.actions)
                and (not rule.agents or name_matcher(rule.agents)(key[2]))
            ]
            if len(self._plans) >= _MOST_PLANS:
                self._plans.clear()
            self._plans[key] = plan
        return plan

    def _demanded(
        self,
        facts: RunFacts,
        event: dict[str, Any],
        sides: tuple[list[Check], list[Check], list[Check]],
        findings: list[Finding],
    ) -> list[_Planned]:
        """Constraints of the request. Those that the run started with stay, whatever a later event leaves out."""
        given = event["request"]["constraints"]
        if not given and not facts.constraints:
            return []
        wanted: dict[str, tuple[str, str, str]] = {}
        for known in facts.constraints:
            wanted[known[0]] = (known[0], known[1], known[2])
        for constraint in given:
            key = (constraint["id"], constraint["type"], constraint["rule"])
            first = wanted.setdefault(key[0], key)
            if first[2] != key[2]:
                message = "the rule of a constraint changed within the run; the first one is judged"
                sides[2].append(Check("constraint_changed", "fail", message, key[0]))
                findings.append(
                    Finding(
                        "policy", "policy.constraint_changed", "error", message, "request.constraints", key[0],
                        "fail", NO_ACTION, event["step_id"], None,
                    )
                )  # fmt: skip
        keys = sorted(wanted.values())
        for key in keys[_MOST_CONSTRAINTS:]:
            message = f"only {_MOST_CONSTRAINTS} constraints of a request are judged"
            sides[0].append(Check(key[0], "unknown", message, key[0]))
        return [self._constraint(key) for key in keys[:_MOST_CONSTRAINTS]]

    def _constraint(self, key: tuple[str, str, str]) -> _Planned:
        planned = self._constraints.get(key)
        if planned is None:
            constraint_id, kind, text = key
            compiled = compile_rule(text)
            severity = SEVERITY_OF.get(kind, "error")
            planned = _planned(
                constraint_id,
                "alignment",
                severity,
                compiled.run,
                message="",
                name=compiled.name,
                constraint_id=constraint_id,
            )
            if len(self._constraints) >= _MOST_PLANS:
                self._constraints.clear()
            self._constraints[key] = planned
        return planned


def _planned(
    id_: str, kind: Side, severity: str, run: CheckFunction, *, message: str, name: str, constraint_id: str | None
) -> _Planned:
    verdict: Status = "warn" if severity in MILD else "fail"
    return _Planned(
        id_, kind, severity, run, message, f"{kind}.{name}", constraint_id, verdict,
        Check(id_, "pass", "", constraint_id), SIDES.index(kind),
    )  # fmt: skip


def _finding(rule: _Planned, message: str, outcome: Outcome, event: dict[str, Any], facts: RunFacts) -> Finding:
    tool_use_id = outcome.tool_use_id
    action = NO_ACTION if tool_use_id is None else facts.blocked.get(tool_use_id, NO_ACTION)
    return Finding(
        rule.kind, rule.code, rule.severity, message, outcome.evidence, rule.constraint_id, rule.verdict, action,
        event["step_id"], tool_use_id,
    )  # fmt: skip


def _apply(facts: RunFacts, event: dict[str, Any]) -> None:
    """What the event changes in the run: edits, test runs, approvals, failed tools."""
    action = event["agent_action"]
    if action["action_type"] == "override":
        facts.approve()
    for artifact in action["artifacts"]:
        kind = artifact["type"]
        metadata = artifact["metadata"]
        if kind == "test_run":
            code = metadata["exit_code"]
            facts.tested(None if code is None else code == 0)
        else:
            lines = (metadata["lines_added"] or 0) + (metadata["lines_removed"] or 0)
            for path in changed_paths(artifact):
                facts.changed(path, lines)
                lines = 0
    if not facts.tool_records:
        for result in action["tool_results"]:
            facts.tool_ended(result["name"], error=result["is_error"])


def _observe_tool_call(facts: RunFacts, record: dict[str, Any]) -> None:
    facts.tool_records = True
    for hook in record["hooks"]:
        if hook["stage"] == "pre" and hook["action"] in _STOPPED:
            facts.block(record["tool_use_id"], hook["action"])
    if record["leg"] == "post" and not record["skipped"]:
        facts.tool_ended(record["tool_name"], error=record["error_type"] is not None)
