"""Error budgets: the arithmetic, and objectives watched under a simulated clock."""

import hashlib
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tachograph.console.slo.alerting import (
    Key,
    after,
    figures_of,
    recovered,
    transitions,
    violation_row,
)
from tachograph.console.slo.burn import (
    PAIRS,
    Level,
    budget_left,
    burn_rate,
    held_back,
    time_to_exhaustion_s,
    windows,
)
from tachograph.console.slo.evaluator import moment_of
from tachograph.console.slo.objective import Count, Observation
from tests.console.slo.simulation import DAY, HOUR, MINUTE, OBJECTIVE, START, Watch, steady
from tests.sinks.rows import CODEC


def test_thresholds_of_thirty_days() -> None:
    """The four pairs of windows, as a share of the budget in the long one."""
    assert [round(pair.threshold(30 * DAY), 9) for pair in PAIRS] == [14.4, 6, 3, 1]
    assert [(pair.long_s, pair.short_s) for pair in PAIRS] == [
        (HOUR, 5 * MINUTE),
        (6 * HOUR, 30 * MINUTE),
        (DAY, 2 * HOUR),
        (3 * DAY, 6 * HOUR),
    ]
    assert PAIRS[0].threshold(7 * DAY) == pytest.approx(3.36)


counts = st.integers(0, 10**9).flatmap(lambda total: st.builds(Count, st.integers(0, total), st.just(total)))
targets = st.floats(0.5, 0.9999)


@given(counts, targets)
def test_a_burn_of_one_spends_the_whole_budget(count: Count, target: float) -> None:
    """What is left and what was spent make one; nothing counted spends nothing."""
    assert budget_left(count, target) + burn_rate(count, target) == pytest.approx(1)
    if count.total == 0 or count.bad == 0:
        assert burn_rate(count, target) == 0
    if count.total:
        assert burn_rate(count, target) == pytest.approx((count.bad / count.total) / (1 - target))


@given(st.floats(0.01, 1), st.floats(0.01, 1000))
def test_at_its_pace_a_budget_is_gone_when_it_says(left: float, pace: float) -> None:
    """A burn of ``pace`` for that long spends exactly what is left."""
    seconds = time_to_exhaustion_s(left, pace, 30 * DAY)
    assert seconds is not None
    assert pace * seconds / (30 * DAY) == pytest.approx(left)


def test_a_budget_that_is_not_spent_lasts_and_one_that_is_spent_is_gone() -> None:
    """No division by nothing, and no time in the past."""
    assert time_to_exhaustion_s(0.5, 0.0, DAY) is None
    assert time_to_exhaustion_s(-0.5, 3.0, DAY) == 0


def test_constant_burn_opens_a_ticket_and_pages_nobody() -> None:
    """4 % bad of an allowed 1 %: a burn of 4 is over 3 and under 6."""
    watch = Watch(steady(START - 4 * DAY, START + DAY, bad=4))
    assert watch.run(START, START + HOUR) == [(0, "TICKET", "firing")]


def test_a_burn_within_the_budget_is_silent() -> None:
    """Exactly what is allowed would last the period; less than that alerts nobody."""
    watch = Watch(steady(START - 4 * DAY, START + DAY, total=1000, bad=9))
    assert watch.run(START, START + 6 * HOUR) == []


def test_a_short_outage_pages_and_recovers() -> None:
    """Ten minutes of nothing but errors: a page while it matters, over soon after it ended."""
    outage = START + HOUR
    events = [
        event._replace(bad=100) if outage <= event.at < outage + 10 * MINUTE else event
        for event in steady(START - DAY, START + DAY)
    ]
    watch = Watch(events)
    told = watch.run(START, START + 6 * HOUR)
    assert [(level, verdict) for _, level, verdict in told if level == "PAGE"] == [
        ("PAGE", "firing"),
        ("PAGE", "resolved"),
    ]
    (fired, _, _), (ended, _, _) = [item for item in told if item[1] == "PAGE"]
    # 14.4 % bad of the last hour are 8.64 minutes of outage; half an hour after its end the short windows are clean.
    assert fired == HOUR + 9 * MINUTE
    assert HOUR + 10 * MINUTE < ended <= HOUR + 40 * MINUTE
    assert watch.firing.keys() <= {Key("acme", "tool-success", Level.TICKET)}


def test_transitions_only() -> None:
    """An outage of three hours is evaluated 180 times and told once for each level."""
    outage = START + HOUR
    events = [
        event._replace(bad=50) if outage <= event.at < outage + 3 * HOUR else event
        for event in steady(START - 4 * DAY, START + 6 * DAY)
    ]
    told = Watch(events).run(START, START + 5 * DAY)
    assert [item[1:] for item in told] == [
        ("PAGE", "firing"),
        ("TICKET", "firing"),
        ("PAGE", "resolved"),
        ("TICKET", "resolved"),
    ]


def test_a_few_events_are_no_outage() -> None:
    """Two bad of three would be a burn of 67; below the minimum counts nobody is told."""
    sparse = [event for event in steady(START - DAY, START + DAY, total=1, bad=1) if event.at % (6 * HOUR) < MINUTE]
    assert Watch(sparse, replace(OBJECTIVE, no_data_after_s=None)).run(START, START + DAY) == []
    one_bad = [event._replace(bad=int(event.at == START)) for event in steady(START - HOUR, START + HOUR, total=1)]
    assert Watch(one_bad).run(START, START + HOUR) == []


def test_no_data_is_an_alert_of_its_own() -> None:
    """After the silence that the objective allows, and over with the first event."""
    watch = Watch(steady(START - DAY, START) + steady(START + 5 * HOUR, START + 6 * HOUR))
    assert watch.run(START, START + 6 * HOUR) == [
        (2 * HOUR, "NO_DATA", "firing"),
        (5 * HOUR + MINUTE, "NO_DATA", "resolved"),
    ]
    rows = [violation_row(change) for change in watch.published]
    assert [row["code"] for row in rows] == ["slo.no_data", "slo.no_data"]
    assert rows[0]["sample_event_ids"] == []


def test_silence_is_not_recovery() -> None:
    """A page stays while no event shows that things are well, until its long windows have run dry."""
    watch = Watch(steady(START - HOUR, START, bad=100), replace(OBJECTIVE, no_data_after_s=None))
    told = watch.run(START, START + 4 * DAY)
    assert told[:2] == [(0, "PAGE", "firing"), (0, "TICKET", "firing")]
    assert told[2] == (6 * HOUR, "PAGE", "resolved")
    assert told[3] == (3 * DAY, "TICKET", "resolved")


def test_late_events_count_where_they_belong() -> None:
    """Events that arrive a quarter of an hour late page late, and leave the windows by their own time."""
    punctual = steady(START - DAY, START + DAY, total=10)
    outage = steady(START, START + 10 * MINUTE, total=1000, bad=1000, late=15 * MINUTE)
    told = Watch(punctual + outage).run(START, START + 6 * HOUR)
    # By then no window of five minutes has seen them; the last half hour has, until half an hour after the last one.
    assert [item for item in told if item[1] == "PAGE"] == [
        (15 * MINUTE, "PAGE", "firing"),
        (40 * MINUTE, "PAGE", "resolved"),
    ]


def test_a_restart_while_firing_says_nothing_twice() -> None:
    """All that a new evaluator knows is the topic; it neither repeats the beginning nor misses the end."""
    outage = START + HOUR
    events = [
        event._replace(bad=100) if outage <= event.at < outage + HOUR else event
        for event in steady(START - DAY, START + 2 * DAY)
    ]
    whole = Watch(events)
    whole.run(START, START + DAY)
    first = Watch(events)
    first.run(START, outage + 30 * MINUTE)
    assert first.firing
    second = first.restarted()
    assert second.firing == first.firing
    second.run(outage + 30 * MINUTE, START + DAY)
    assert [change.id for change in second.published] == [change.id for change in whole.published]


def test_an_alert_ends_when_nothing_is_left_to_count() -> None:
    """A tenant that is gone for a whole period does not burn for ever."""
    key = Key("gone", "tool-success", Level.PAGE)
    (change,) = transitions(OBJECTIVE, [], {key: START}, START + 60)
    assert (change.key, change.verdict, change.fired_at) == (key, "resolved", START)
    assert transitions(OBJECTIVE, [], {key._replace(slo="other"): START}, START) == []


@pytest.mark.parametrize(
    ("long", "short", "why"),
    [
        pytest.param(Count(0, 100), Count(0, 10), None, id="nothing burns"),
        pytest.param(Count(50, 100), Count(5, 10), None, id="it gives an alert"),
        pytest.param(Count(5, 5), Count(5, 5), "needs 20 events", id="too few events"),
        pytest.param(Count(1, 20), Count(1, 1), "needs 2 bad events", id="too few bad ones"),
        pytest.param(Count(50, 100), Count(0, 10), "over by now", id="the short window is calm"),
    ],
)
def test_why_a_burn_gives_no_alert(long: Count, short: Count, why: str | None) -> None:
    """A page that shows a high burn rate and no alert says why."""
    pair = PAIRS[0]
    objective = replace(OBJECTIVE, target=0.999, minimum_events=20, minimum_bad=2)
    seen = Observation(tenant_id="acme", counts={pair.long_s: long, pair.short_s: short}, last_event_at=0)
    assert held_back(pair, objective, seen) == why


def test_a_transition_as_a_violation() -> None:
    """It fits the schema, carries samples, and its id is the hash of tenant, objective, severity and beginning."""
    watch = Watch(steady(START - HOUR, START + HOUR, bad=100))
    watch.run(START, START + MINUTE)
    row = violation_row(replace(watch.published[0], sample_event_ids=("e1", "e2")))
    assert CODEC.decode_as("rows.violations", CODEC.encode("rows.violations", row)) == row
    assert row["violation_id"] == hashlib.sha256(f"acme|tool-success|critical|{START}".encode()).hexdigest()
    assert row["sample_event_ids"] == ["e1", "e2"]
    assert (row["kind"], row["severity"], row["verdict"]) == ("slo", "critical", "firing")
    assert (
        row["message"] == "Tool success: the error budget is spent 100.0 times too fast over 6 hours, "
        "100.0 times the budget is gone. Look at the sample events."
    )


keys = st.builds(Key, st.sampled_from(["a", "b"]), st.sampled_from(["x", "y"]), st.sampled_from(list(Level)))


@given(st.lists(keys, max_size=30), st.randoms())
def test_what_fires_is_recovered_from_the_topic_in_any_order(toggled: list[Key], chance: object) -> None:
    """Partitions are read one after another; the order in the topic is not the order of time."""
    quiet = Observation(tenant_id="a", counts={span: Count(0, 0) for span in windows(OBJECTIVE)}, last_event_at=0)
    template = transitions(OBJECTIVE, [quiet], {}, START)[0]
    firing: dict[Key, int] = {}
    published = []
    for step, key in enumerate(toggled):
        verdict = "resolved" if key in firing else "firing"
        change = replace(template, key=key, verdict=verdict, starts_at=START + step)
        firing = after(firing, [change])
        published.append(violation_row(change))
    chance.shuffle(published)  # type: ignore[attr-defined]  # random.Random, which hypothesis does not name
    assert recovered(published) == firing


def test_other_rows_of_the_topic_are_passed_over() -> None:
    """A foreign writer's row is not taken for a state of ours."""
    watch = Watch(steady(START - HOUR, START + HOUR, bad=100))
    watch.run(START, START + MINUTE)
    row = violation_row(watch.published[0])
    assert recovered([row | {"verdict": "fail"}, row | {"severity": "info"}, row | {"kind": "policy"}]) == {}


def test_figures_of_a_budget() -> None:
    """What every reader shows: counts, what is left, when it is gone, and the burn in each window."""
    observation = Watch(steady(START - 10 * HOUR, START, total=10, bad=0)).observation(START)
    assert observation is not None
    figures = figures_of(OBJECTIVE, observation)
    assert figures["budget_left"] == 1
    assert figures["exhausted_in_s"] is None
    half = replace(observation, counts=dict.fromkeys(observation.counts, Count(5, 1000)))
    assert figures_of(OBJECTIVE, half)["budget_left"] == 0.5
    assert figures_of(OBJECTIVE, half)["exhausted_in_s"] == 30 * DAY


def test_moments_are_the_same_for_whoever_asks() -> None:
    """Whole multiples of the interval, behind the lateness that is allowed."""
    assert moment_of(1000.9, 60, 120) == 840
    assert {moment_of(960 + second, 60, 0) for second in range(60)} == {960}
