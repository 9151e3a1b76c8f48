"""What can be wrong with rules. Texts name a file, a rule id and the kind of fault, never content that was redacted."""

from tachograph.schemas.errors import ConfigError

__all__ = ["RuleError"]


class RuleError(ConfigError):
    """A rule file cannot be used. Stop and tell the operator: with fewer rules than asked for, secrets would pass."""
