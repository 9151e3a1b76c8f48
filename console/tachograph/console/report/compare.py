"""Two runs compared, typed. Pure, and symmetric: swapping the runs swaps the sides of each difference and nothing else.

Things are paired by what they are and how often that came before: the second ``run_tests`` of one run with the second
``run_tests`` of the other.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal, TypeVar

from tachograph.console.report.model import Content, RunReport
from tachograph.console.visible import clipped

SCHEMA_VERSION: Final = "1.0"

Kind = Literal["request", "outcome", "prompt", "tool", "decision", "output", "violation", "cost"]
KINDS: Final[tuple[Kind, ...]] = ("request", "outcome", "prompt", "tool", "decision", "output", "violation", "cost")
"""What can differ, in the order in which it is told."""

_TOLD_LIMIT: Final = 60
"""Characters of each value where a whole thing is on one side only."""

Change = Literal["added", "removed", "changed"]
T = TypeVar("T")
Facts = Mapping[str, str | None]
"""What is compared of one thing, by name; None where there is nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One thing that is not the same in both runs."""

    kind: Kind
    where: str
    """Which one, and what of it."""
    change: Change
    """From left to right: added, removed or changed."""
    left: str | None
    right: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """All differences of two runs."""

    schema_version: str
    left_run_id: str
    right_run_id: str
    differences: tuple[Difference, ...]

    @property
    def counts(self) -> dict[str, int]:
        """How many there are of each kind that there is."""
        counted = Counter(item.kind for item in self.differences)
        return {kind: counted[kind] for kind in KINDS if counted[kind]}

    def mirrored(self) -> "Comparison":
        """The same, seen from the other side."""
        turned: dict[Change, Change] = {"added": "removed", "removed": "added", "changed": "changed"}
        return Comparison(
            schema_version=self.schema_version,
            left_run_id=self.right_run_id,
            right_run_id=self.left_run_id,
            differences=tuple(
                Difference(
                    kind=item.kind, where=item.where, change=turned[item.change], left=item.right, right=item.left
                )
                for item in self.differences
            ),
        )


def compare(left: RunReport, right: RunReport) -> Comparison:
    """What differs between two runs. Ids and times do not count: no two runs share them."""
    found: list[Difference] = []
    for kind, facts in _SIDES.items():
        found += _differences(kind, dict(facts(left)), dict(facts(right)))
    return Comparison(
        schema_version=SCHEMA_VERSION,
        left_run_id=left.summary.run_id,
        right_run_id=right.summary.run_id,
        differences=tuple(found),
    )


def document_of(comparison: Comparison) -> dict[str, Any]:
    """The comparison as plain values for JSON."""
    return {**asdict(comparison), "counts": comparison.counts}


def _differences(kind: Kind, left: Mapping[str, Facts], right: Mapping[str, Facts]) -> Iterator[Difference]:
    for thing in sorted({*left, *right}):
        ours, theirs = left.get(thing), right.get(thing)
        if ours is None or theirs is None:
            change: Change = "added" if ours is None else "removed"
            yield Difference(kind=kind, where=thing, change=change, left=_told(ours), right=_told(theirs))
            continue
        for name in sorted({*ours, *theirs}):
            was, now = ours.get(name), theirs.get(name)
            if was != now:
                change = "added" if was is None else "removed" if now is None else "changed"
                yield Difference(kind=kind, where=f"{thing}: {name}", change=change, left=was, right=now)


def _told(facts: Facts | None) -> str | None:
    """A whole thing in a few words."""
    if facts is None:
        return None
    return ", ".join(f"{name} {clipped(value, _TOLD_LIMIT)}" for name, value in facts.items() if value)


def _request(report: RunReport) -> Iterator[tuple[str, Facts]]:
    request = report.request
    yield "request", {"text": request.text.text, "repository": request.repo, "branch": request.branch}
    for place, item in _counted(request.constraints, lambda item: item.id):
        yield f"constraint {place}", {"type": item.type, "rule": item.rule, "answer": item.status}


def _outcome(report: RunReport) -> Iterator[tuple[str, Facts]]:
    run = report.summary
    yield (
        "run",
        {
            "agent": f"{run.agent_id} {run.agent_version}",
            "status": run.status,
            "error": run.error_type,
            "environment": run.environment,
            "capture mode": run.capture_mode,
            "completeness": report.completeness.state,
            "missing": "; ".join(report.completeness.missing) or None,
        },
    )
    for place, record in _counted(report.records, lambda item: item.decision_key):
        yield f"record {place}", {"status": record.status, "outcome": record.outputs, "spec": record.decision_version}


def _prompts(report: RunReport) -> Iterator[tuple[str, Facts]]:
    for place, call in enumerate(report.model_calls, 1):
        yield (
            f"prompt {place:03d}",
            {
                "model": f"{call.provider} {call.model}".strip(),
                "bundle": call.prompt_bundle_hash,
                "parameters": ", ".join(f"{name}={value:g}" for name, value in sorted(call.parameters.items())),
                "tools offered": ", ".join(sorted(call.tools_offered)),
                "retrieved": ", ".join(call.retrieval_sources),
                "transformations": "; ".join(call.transformations),
                **{
                    f"message {number:03d} ({message.role})": _content(message.content)
                    for number, message in enumerate(call.messages, 1)
                },
            },
        )


def _tools(report: RunReport) -> Iterator[tuple[str, Facts]]:
    names = {call.tool_use_id: call.tool_name for call in report.tool_calls}
    for place, call in _counted(report.tool_calls, lambda item: item.tool_name):
        yield (
            f"tool {place}",
            {
                "input": _content(call.input),
                "output": _content(call.output),
                "state": call.state,
                "error": call.error_type,
                "phase": call.phase,
                "called by": " > ".join(names.get(parent, "?") for parent in call.attribution) or "the agent",
                "missing": ", ".join(call.missing) or None,
                "hooks": ", ".join(f"{item.hook} {item.action}" for item in call.hooks) or None,
            },
        )


def _decisions(report: RunReport) -> Iterator[tuple[str, Facts]]:
    for place, item in _counted(report.decisions, lambda item: item.decision_type):
        yield (
            f"decision {place}",
            {
                "selected": item.selected,
                "candidates": ", ".join(item.candidates),
                "reason": item.reason_code,
                "confidence": None if item.confidence is None else f"{item.confidence:g}",
            },
        )


def _outputs(report: RunReport) -> Iterator[tuple[str, Facts]]:
    for number, call in enumerate(report.model_calls, 1):
        asked = ", ".join(item.name for item in call.asked)
        yield f"answer {number:03d}", {"text": _content(call.output), "asks for": asked}
    for place, action in _counted(report.actions, lambda item: item.action_type):
        yield (
            f"action {place}",
            {
                "summary": action.summary,
                "made": "; ".join(item.summary for item in action.artifacts),
                "content": " ".join(sorted(item.hash for item in action.artifacts)),
                "set aside": "by a person" if action.overridden_by else None,
            },
        )


def _violations(report: RunReport) -> Iterator[tuple[str, Facts]]:
    for item in report.top_violations:
        yield item.code, {"severity": item.severity, "times": str(item.count)}


def _cost(report: RunReport) -> Iterator[tuple[str, Facts]]:
    cost = report.cost
    yield (
        "run",
        {
            "input tokens": str(cost.input_tokens),
            "output tokens": str(cost.output_tokens),
            "tool calls": str(cost.tool_calls),
            "tool time (ms)": str(cost.tool_ms),
            "wall clock (ms)": None if cost.duration_ms is None else str(cost.duration_ms),
            "USD": cost.usd,
        },
    )
    for item in cost.by_model:
        yield (
            f"{item.provider} {item.model}".strip(),
            {
                "calls": str(item.calls),
                "input tokens": str(item.input_tokens),
                "output tokens": str(item.output_tokens),
            },
        )
    yield "context", {f"{name} tokens": str(count) for name, count in report.context.tokens_by_source.items()}


_SIDES: Final[Mapping[Kind, Callable[[RunReport], Iterator[tuple[str, Facts]]]]] = {
    "request": _request,
    "outcome": _outcome,
    "prompt": _prompts,
    "tool": _tools,
    "decision": _decisions,
    "output": _outputs,
    "violation": _violations,
    "cost": _cost,
}


def _content(value: Content) -> str | None:
    return value.text if value.text is not None else value.artifact_id


def _counted(items: Sequence[T], key: Callable[[T], str]) -> Iterator[tuple[str, T]]:
    """Each item with its name and how often that came so far."""
    seen: Counter[str] = Counter()
    for item in items:
        name = key(item)
        seen[name] += 1
        yield f"{name} {seen[name]:03d}", item
