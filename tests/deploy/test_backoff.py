"""When a dead child is started again."""

from tachograph.deploy.backoff import Backoff, RestartPolicy


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_each_death_waits_longer_up_to_the_longest() -> None:
    """The waits double and stop growing."""
    policy = RestartPolicy(Clock(), Backoff(first_s=1, factor=2, longest_s=5, healthy_after_s=60))
    assert [policy.died() for _ in range(5)] == [1, 2, 4, 5, 5]


def test_a_long_life_forgets_earlier_deaths() -> None:
    """A child that ran for an hour starts again with the first wait."""
    clock = Clock()
    policy = RestartPolicy(clock, Backoff(first_s=1, healthy_after_s=60))
    waits = [policy.died(), policy.died()]
    policy.started()
    clock.now += 60
    assert [*waits, policy.died()] == [1, 2, 1]


def test_a_child_that_dies_forever_never_overflows() -> None:
    """The thousandth death waits as long as the tenth."""
    policy = RestartPolicy(Clock())
    assert {policy.died() for _ in range(2000)} >= {Backoff().longest_s}
    assert policy.deaths == 2000
