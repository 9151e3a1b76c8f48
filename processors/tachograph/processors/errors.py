"""Every error the worker stops with, and what its operator should do.

::

    TachographError
    └── WorkerError                    the worker stopped; nothing it had not finished was acknowledged
        ├── BrokerUnreachableError     start the broker or correct kafka.bootstrap_servers
        ├── TopicsError                create the topics, or give them equal partition counts
        ├── ReplayError                stop the workers of the group first, or ask for a place that exists
        ├── NoEvaluatorsError          turn a plug-in evaluator on, or do not start the process for them
        ├── DeadLetterLimitError       bad input is an outage: look at the producer it names
        ├── OutputsNotStoredError      the broker did not take outputs or state in time; restart when it does
        └── WorkerCrashedError         a bug, or a dependency that failed; restart, and report it if it stays

    RowTooLargeError                   dead-letter: the row of this one record is larger than a message may be
    IdTooLongError                     dead-letter: what should be an id of this one record is none

Messages never carry bytes or values of a record.
"""

from tachograph.schemas.errors import TachographError


class WorkerError(TachographError):
    """The worker stopped. Input it had not finished stays unacknowledged and is read again after a restart."""


class BrokerUnreachableError(WorkerError):
    """No broker answered in time."""


class TopicsError(WorkerError):
    """A topic is missing, or its partitions do not line up with the input's."""


class ReplayError(WorkerError):
    """Records cannot be read again from the place that was asked for."""


class NoEvaluatorsError(WorkerError):
    """The process of the plug-in evaluators has none to run."""


class DeadLetterLimitError(WorkerError):
    """So many records were bad that dead-lettering them would hide an outage."""


class OutputsNotStoredError(WorkerError):
    """The broker did not acknowledge outputs or state within worker.delivery_timeout_s."""


class WorkerCrashedError(WorkerError):
    """Something that no input should be able to cause."""


class RowTooLargeError(TachographError):
    """A row is larger than the broker takes. Its record becomes a dead letter."""


class IdTooLongError(TachographError):
    """An id is so long that it cannot be one. Its record becomes a dead letter."""
