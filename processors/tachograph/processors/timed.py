"""An evaluator that says how long it took. The clock stays out of the core."""

from collections.abc import Callable
from time import perf_counter
from typing import Any

from tachograph.processors.evaluate import Evaluation, Evaluator, RulePacks, RunFacts


class TimedEvaluator(Evaluator):
    """Tells ``took`` the seconds of every evaluation."""

    def __init__(self, catalog: RulePacks, took: Callable[[float], None]) -> None:
        super().__init__(catalog)
        self._took = took

    def evaluate(self, facts: RunFacts, event: dict[str, Any]) -> Evaluation:
        """As the evaluator does."""
        started = perf_counter()
        evaluation = super().evaluate(facts, event)
        self._took(perf_counter() - started)
        return evaluation
