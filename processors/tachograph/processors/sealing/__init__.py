"""Sealing: place in the log, hash chain, signature, checkpoint. A pure function of the head and the proposal."""

from tachograph.processors.sealing.custody import KeyFile
from tachograph.processors.sealing.errors import CustodyError, HeadError, SealError, UnsealableError
from tachograph.processors.sealing.head import LogHead, log_id
from tachograph.processors.sealing.logs import Logs, recover
from tachograph.processors.sealing.seal import Sealed, checkpoint, seal

__all__ = [
    "CustodyError",
    "HeadError",
    "KeyFile",
    "LogHead",
    "Logs",
    "SealError",
    "Sealed",
    "UnsealableError",
    "checkpoint",
    "log_id",
    "recover",
    "seal",
]
