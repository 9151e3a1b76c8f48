"""Verification: a log against itself, its checkpoints, and what an auditor holds from elsewhere."""

from tachograph.console.verify.bundle import Bundle, BundleError, read_bundle, verify_bundle, write_bundle
from tachograph.console.verify.log import Finding, FindingCode, verify_log

__all__ = [
    "Bundle",
    "BundleError",
    "Finding",
    "FindingCode",
    "read_bundle",
    "verify_bundle",
    "verify_log",
    "write_bundle",
]
