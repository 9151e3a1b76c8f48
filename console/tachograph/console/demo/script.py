"""Three short stories of a coding agent, with every record type in them."""

from tachograph.console.demo.deploying import asks_before_deploying
from tachograph.console.demo.fixing import fixes_a_test
from tachograph.console.demo.giving_up import gives_up
from tachograph.console.demo.stage import Stage

_BETWEEN_MS = 10_000


def play_stories(on: Stage) -> None:
    """All of them, one after the other."""
    for story in (fixes_a_test, gives_up, asks_before_deploying):
        story(on)
        on.clock.pass_time(_BETWEEN_MS)
