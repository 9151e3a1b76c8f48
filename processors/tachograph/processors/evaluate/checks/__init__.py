"""The built-in checks, one file per family. Importing them registers them."""

from tachograph.processors.evaluate.checks import format as format_
from tachograph.processors.evaluate.checks import policy, quality, safety, scope

__all__ = ["format_", "policy", "quality", "safety", "scope"]
