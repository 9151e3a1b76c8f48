"""The witness of calls outside of any run: hooks work, nothing is recorded."""

import logging
import time
from typing import Any, Final

from tachograph.producers.tools.conduct import Outcome, Telling

_LOG: Final = logging.getLogger("tachograph.producers")


class Unseen:
    """Tells nobody."""

    def before(self, telling: Telling) -> None:
        """Nothing to do."""

    def inside(self, telling: Telling) -> Any:
        """Nothing to do."""

    def outside(self, token: Any) -> None:
        """Nothing to do."""

    def after(self, telling: Telling) -> None:
        """Nothing to do."""

    def handed_back(self, telling: Telling) -> None:
        """Nothing to do."""

    def hook_failed(self, outcome: Outcome) -> None:
        """Say so, for there is no record that could."""
        _LOG.warning("a %s-hook failed (%s)", outcome.stage.value, outcome.error_type)

    def shown(self, name: str) -> str:
        """As it is: without a run there is no capture mode."""
        return name

    def steady_ns(self) -> int:
        """The machine's steady clock."""
        return time.perf_counter_ns()
