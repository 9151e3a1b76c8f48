"""Verification: a log against itself, its checkpoints, and what an auditor holds from elsewhere."""

from tachograph.console.verify.bundle import (
    Bundle,
    BundleError,
    BundleReport,
    read_bundle,
    report_bundle,
    verify_bundle,
    write_bundle,
)
from tachograph.console.verify.log import Finding, FindingCode, LogReport, report_log, verify_log

__all__ = [
    "Bundle",
    "BundleError",
    "BundleReport",
    "Finding",
    "FindingCode",
    "LogReport",
    "read_bundle",
    "report_bundle",
    "report_log",
    "verify_bundle",
    "verify_log",
    "write_bundle",
]
