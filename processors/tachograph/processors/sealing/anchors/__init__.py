"""Anchors: who is told of the heads of our logs, so that nobody can change them afterwards unseen."""

from tachograph.processors.sealing.anchors.anchor import Anchor, Receipt
from tachograph.processors.sealing.anchors.file import FileAnchor
from tachograph.processors.sealing.anchors.opening import open_anchors

__all__ = ["Anchor", "FileAnchor", "Receipt", "open_anchors"]
