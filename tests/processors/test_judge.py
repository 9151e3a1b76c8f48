"""Every event is evaluated by the stream, beside what its agent said, and broken rules become violations."""

from typing import Any

from tachograph.processors.evaluate import RunFacts
from tachograph.processors.state import RunState
from tachograph.schemas.wire import to_avro
from tests.processors.records import JUDGING, landed, numbered
from tests.schemas import samples

EVENT = to_avro(samples.DECISION_EVENT)


def judged(**changes: Any) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The evaluation of one event, and the violations of other kinds than observability."""
    rows = landed(JUDGING(RunState(), numbered(samples.DECISION_EVENT, 0, **changes)))
    [evaluation] = [row for schema, row in rows if schema == "rows.evaluations"]
    found = [row for schema, row in rows if schema == "rows.violations" and row["kind"] != "observability"]
    return evaluation, found


def with_constraint(rule: str) -> dict[str, Any]:
    return {"request": EVENT["request"] | {"constraints": [{"id": "c1", "type": "format", "rule": rule}]}}


def test_a_broken_constraint_is_in_the_row_and_on_the_topic() -> None:
    """Constraint, verdict and action; the agent's own evaluation is in the row of the event, untouched."""
    output = EVENT["model_output"] | {"output_raw": "done 🙂"}
    evaluation, found = judged(model_output=output, **with_constraint("no_emojis"))
    assert evaluation["alignment_status"] in {"warn", "fail"}
    [check] = [check for check in evaluation["alignment_checks"] if check["constraint_id"] == "c1"]
    assert check["status"] == evaluation["alignment_status"]
    [violation] = [row for row in found if row["constraint_id"] == "c1"]
    assert (violation["kind"], violation["event_id"], violation["action"]) == ("alignment", "event-0", "none")
    assert violation["verdict"] == check["status"]
    assert evaluation["rules"].startswith("coding-agent@")


def test_a_rule_that_nobody_knows_is_unknown() -> None:
    """Never a pass."""
    evaluation, _ = judged(**with_constraint("be_excellent_to_each_other"))
    assert [check["status"] for check in evaluation["alignment_checks"] if check["constraint_id"] == "c1"] == [
        "unknown"
    ]


def test_two_constraints_that_one_check_finds_broken_are_two_violations() -> None:
    """Of one event, one code and one rule: told apart by the constraint, in their ids too."""
    output = EVENT["model_output"] | {"output_raw": "done 🙂"}
    twice = [{"id": name, "type": "format", "rule": "no_emojis"} for name in ("c1", "c2")]
    _, found = judged(model_output=output, request=EVENT["request"] | {"constraints": twice})
    ids = {row["constraint_id"]: row["violation_id"] for row in found if row["code"] == "alignment.no_emojis"}
    assert {"c1", "c2"} <= ids.keys()
    assert ids["c1"] != ids["c2"]


def test_what_is_remembered_for_the_checks_survives_the_changelog() -> None:
    """Facts are part of the run's state."""
    state = RunState()
    JUDGING(state, numbered(samples.RUN_STARTED, 0))
    JUDGING(state, numbered(samples.DECISION_EVENT, 1))
    restored = RunState.from_bytes(state.to_bytes())
    assert restored == state
    assert isinstance(restored.facts, RunFacts)
    assert restored.facts.environment == samples.RUN_STARTED.environment
