"""Evaluate: alignment, quality and policy of every event, by rule packs, constraints and plug-ins."""

from tachograph.processors.evaluate.catalog import RulePackError, RulePacks
from tachograph.processors.evaluate.evaluator import Evaluator
from tachograph.processors.evaluate.facts import RunFacts
from tachograph.processors.evaluate.results import Check, Evaluation, Finding, SideResult

__all__ = ["Check", "Evaluation", "Evaluator", "Finding", "RulePackError", "RulePacks", "RunFacts", "SideResult"]
