"""Objectives are OpenSLO documents: those shipped are sound, and a wrong one is refused with its line."""

from pathlib import Path

import pytest

from tachograph.console.slo.openslo import load_objectives, seconds_of
from tachograph.console.slo.shipped import shipped_folder
from tachograph.schemas.errors import DocumentError

SHIPPED = shipped_folder()
TOTAL = 'table: tool_calls\n              condition: "complete"'


def test_the_shipped_objectives() -> None:
    """One for each promise that people ask about first."""
    assert {found.name: found.target for found in load_objectives(SHIPPED)} == {
        "alignment-pass-rate": 0.95,
        "decision-latency": 0.95,
        "observability-completeness": 0.999,
        "policy-compliance": 0.99,
        "snapshot-success": 0.999,
        "tool-success": 0.95,
    }
    assert SHIPPED.parts[-2:] == ("deploy", "slos")


def test_an_objective_is_read_whole() -> None:
    """Every field of the file arrives where the evaluator looks for it."""
    found = next(item for item in load_objectives(SHIPPED) if item.name == "tool-success")
    assert found.title == "Tool success"
    assert found.table == "tool_calls"
    assert (found.bad, found.total) == ("result_is_error OR ifNull(error_type, '') != ''", "complete")
    assert (found.period_s, found.no_data_after_s) == (30 * 86_400, 86_400)
    assert (found.minimum_events, found.minimum_bad) == (20, 2)


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        pytest.param("openslo/v1", "openslo/v2alpha", ":1:13: apiVersion: Input should be", id="another version"),
        pytest.param("kind: SLO", "kind: SLI", ":2:7: kind: Input should be", id="another kind"),
        pytest.param(
            "name: tool-success", "name: Tool Success", ":4:9: metadata.name: String should match", id="a name"
        ),
        pytest.param("target: 0.95", "target: 95", "target: Input should be less than 1", id="a percentage"),
        pytest.param("30d", "1d", "duration: must be longer than 3d", id="a period too short for its windows"),
        pytest.param("30d", "a month", "duration: a duration is a number", id="a duration in words"),
        pytest.param("isRolling: true", "isRolling: false", "isRolling: Input should be True", id="a calendar month"),
        pytest.param("Occurrences", "Timeslices", "budgetingMethod: Input should be", id="another method"),
        pytest.param(
            TOTAL,
            TOTAL.replace("tool_calls", "x"),
            ":17:7: spec.indicator.spec.ratioMetric: bad and total must name the same table",
            id="two tables",
        ),
        pytest.param(
            '"complete"', '"1; DROP TABLE canary"', "condition: a condition has no semicolon", id="statements"
        ),
        pytest.param("type: tachograph", "type: Prometheus", "type: Input should be 'tachograph'", id="another source"),
        pytest.param('minimum-events: "20"', 'minimum-events: "few"', ":6:3: metadata.annotations: ", id="a word"),
        pytest.param(
            "minimum-events", "minimal-events", "unknown annotation tachograph.dev/minimal-events", id="a slip"
        ),
        pytest.param("no-data-after: 1d", "no-data-after: soon", "a duration is a number", id="no duration of silence"),
    ],
)
def test_a_wrong_objective_is_refused_with_its_line(old: str, new: str, sentence: str, tmp_path: Path) -> None:
    """Before anything is evaluated by it."""
    text = (SHIPPED / "tool-success.yaml").read_text()
    assert old in text
    (tmp_path / "a.yaml").write_text(text.replace(old, new))
    with pytest.raises(DocumentError) as refused:
        load_objectives(tmp_path)
    assert sentence in str(refused.value)
    assert "canary" not in str(refused.value)


def test_every_wrong_file_is_named(tmp_path: Path) -> None:
    """Two files with mistakes, and two with one name, come in one message."""
    text = (SHIPPED / "tool-success.yaml").read_text()
    (tmp_path / "a.yaml").write_text(text)
    (tmp_path / "b.yml").write_text(text)
    (tmp_path / "c.yaml").write_text("kind: SLO\n")
    with pytest.raises(DocumentError) as refused:
        load_objectives(tmp_path)
    assert "an objective named tool-success is there already" in str(refused.value)
    assert "c.yaml:1:1: apiVersion: Field required" in str(refused.value)


def test_a_folder_without_objectives(tmp_path: Path) -> None:
    """Watching nothing would look like all is well."""
    with pytest.raises(DocumentError, match=r"no \.yaml files"):
        load_objectives(tmp_path)


def test_durations() -> None:
    """As OpenSLO writes them."""
    assert [seconds_of(text) for text in ("5m", "6h", "30d", "4w")] == [300, 21_600, 2_592_000, 2_419_200]
