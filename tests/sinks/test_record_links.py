"""What comes back to a decision links to its record: feedback, scores, violations, replays and corrections."""

import pytest

from tests.sinks.conftest import Place
from tests.sinks.running import eventually, running_sink

pytestmark = pytest.mark.stack

LINKS = """
SELECT link, said, value, reference FROM tachograph.record_links
WHERE tenant_id = {tenant:String} AND record_id = 'dr_1' ORDER BY link, said
"""
NO_SCORES = dict.fromkeys(("score_utility", "score_latency", "score_safety", "score_cost"))


def test_all_that_links_to_a_record_is_one_query(whole_place: Place) -> None:
    """Rows of five kinds land as the pipeline writes them; those of another record, and without one, are not there."""
    place = whole_place
    signal = {"signal_type": "user_feedback", "signal_code": "rejected", "value": False}
    place.send("agent_quality_signals", range(1), event_id="ev_feedback", record_id="dr_1", **signal)
    place.send("agent_quality_signals", range(1, 2), record_id="dr_2", **signal)
    place.send("agent_quality_signals", range(2, 3), record_id=None, **signal)
    scored = {"event_id": "ev_record", "record_id": "dr_1", "supersedes": None, "score_policy": "0.25", **NO_SCORES}
    place.send("decision_records", range(1), **scored)
    corrected = {"record_id": "dr_3", "supersedes": "dr_1", "status": "CLOSED", "score_policy": None, **NO_SCORES}
    place.send("decision_records", range(1, 2), **corrected)
    found = {"violation_id": "v_1", "code": "record.escalated", "severity": "warn"}
    place.send("violations", range(1), evidence="record:dr_1", **found)
    place.send("violations", range(1, 2), evidence="model_output.output_raw", **found)
    place.send("replays", range(1), replay_id="rp_1", record_id="dr_1", outcome="replay_equal")
    with running_sink(place.settings, place.topics):
        tables = {"agent_quality_signals": 3, "decision_records": 2, "violations": 2, "replays": 1}
        eventually(lambda: {table: place.count(table) for table in tables} == tables, "rows of five kinds")
    every = "SELECT record_id, count() FROM tachograph.record_links WHERE tenant_id = {tenant:String} GROUP BY ALL"
    assert sorted(place.query(every)) == [("dr_1", 5), ("dr_2", 1)]
    assert place.query(LINKS) == [
        ("correction", "CLOSED", "", "dr_3"),
        ("feedback", "rejected", "false", "ev_feedback"),
        ("replay", "replay_equal", "", "rp_1"),
        ("score", "policy", "0.25", "ev_record"),
        ("violation", "record.escalated", "warn", "v_1"),
    ]
