"""Events as the worker sees them, built from one believable sample."""

from collections.abc import Iterable
from typing import Any

import orjson

from tachograph.processors.evaluate import Evaluation, Evaluator, RulePacks, RunFacts
from tests.processors.records import as_decoded
from tests.schemas import samples

HMAC = "hmac:" + "ab" * 32


def run_started(**changes: Any) -> dict[str, Any]:
    return as_decoded(samples.RUN_STARTED, **changes)


def artifact(kind: str, content: str | None = None, **metadata: Any) -> dict[str, Any]:
    return {
        "type": kind,
        "id": "a1",
        "summary": "s",
        "content": content,
        "content_ref": None,
        "hash": samples.HASH,
        "metadata": {"path": None, "lines_added": None, "lines_removed": None, "exit_code": None} | metadata,
    }


def edit(path: str | None = "src/a.py", *, added: int | None = 1) -> dict[str, Any]:
    return artifact("file_edit", "diff", path=path, lines_added=added, lines_removed=0)


def call(name: str, arguments: Any = None, tool_call_id: str = "tc_1") -> dict[str, Any]:
    return {
        "tool_call_id": tool_call_id,
        "name": name,
        "arguments": None if arguments is None else orjson.dumps(arguments).decode(),
        "arguments_pointer": None,
    }


def event(
    action: str = "message",
    *,
    output: str | None = "Done.",
    structured: Any = None,
    artifacts: Iterable[dict[str, Any]] = (),
    calls: Iterable[dict[str, Any]] = (),
    results: Iterable[dict[str, Any]] = (),
    constraints: Iterable[str] = (),
    mode: str | None = "redacted",
    environment: str = "ci",
    **changes: Any,
) -> dict[str, Any]:
    """A DecisionEvent with nothing in it but what is asked for."""
    record = as_decoded(samples.DECISION_EVENT)
    record["session"]["environment"] = environment
    record["request"]["constraints"] = [
        {"id": f"c{place}", "type": "other", "rule": rule} for place, rule in enumerate(constraints)
    ]
    record["prompt_provenance"]["capture_mode"] = mode
    record["prompt_provenance"]["prompt_bundle"]["retrieval"]["enabled"] = False
    record["model_output"] |= {
        "output_raw": output,
        "output_structured": None if structured is None else orjson.dumps(structured).decode(),
        "tool_calls": list(calls),
    }
    record["agent_action"] |= {
        "action_type": action,
        "artifacts": list(artifacts),
        "tool_results": list(results),
    }
    return record | changes


def judged(rule: str, subject: dict[str, Any], facts: RunFacts | None = None) -> str | None:
    """What one rule, as a constraint, says of an event; None if it does not apply."""
    subject["request"]["constraints"] = [{"id": "c", "type": "other", "rule": rule}]
    evaluation = Evaluator(RulePacks()).evaluate(facts or RunFacts(), subject)
    return evaluation.alignment.checks[0].status if evaluation.alignment.checks else None


def evaluate(subject: dict[str, Any], facts: RunFacts | None = None) -> Evaluation:
    """Evaluate by constraints alone."""
    return Evaluator(RulePacks()).evaluate(facts or RunFacts(), subject)
