from tachograph.producers.redaction.errors import RuleError
from tachograph.producers.redaction.redactor import Redactor, explain
from tachograph.producers.redaction.results import Budget, DropReason, Finding, Redacted, RedactedValue, RuleCount
from tachograph.producers.redaction.rules import RulePack, default_pack, load_rules

__all__ = [
    "Budget",
    "DropReason",
    "Finding",
    "Redacted",
    "RedactedValue",
    "Redactor",
    "RuleCount",
    "RuleError",
    "RulePack",
    "default_pack",
    "explain",
    "load_rules",
]
