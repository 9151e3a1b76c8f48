from tachograph.processors.snapshots.captures import Capture, CaptureIndex
from tachograph.processors.snapshots.copier import Captures, SnapshotCopier
from tachograph.processors.snapshots.requests import SnapshotRequest, of_failure, of_sample

__all__ = ["Capture", "CaptureIndex", "Captures", "SnapshotCopier", "SnapshotRequest", "of_failure", "of_sample"]
