"""Every error the sinks raise, and what its catcher should do.

::

    TachographError
    └── SinkError
        ├── TransientError                  retry: it will pass by itself
        │   ├── ClickHouseUnreachableError      no connection, or no answer in time
        │   ├── ClickHouseBusyError             too many parts, out of memory, read-only for now
        │   ├── BrokerTroubleError              Kafka did not answer; start over from what is committed
        │   └── CollectorUnreachableError       the OTLP collector was away for as long as it was waited for
        ├── OwnershipLostError              drop what is in hand: another sink has these partitions now
        ├── RowsRefusedError                dead-letter, once the refused rows are found
        └── StopError                       stop: a person has to change something; the message says what
            ├── WrongPasswordError              ClickHouse does not know this account and password
            ├── MissingGrantError               the account may not do what it is for
            ├── MissingTableError               a table or column is not there: migrate first
            ├── MissingTopicError               a topic is not there: create it first
            ├── UnreachableAtStartError         a server did not answer when the sink started
            ├── FencedError                     a second sink runs under the same instance id
            ├── DeadLetterLimitError            so many rows are refused that it is no accident
            ├── DeadLetterUndeliveredError      the dead-letter topic did not take a refused row
            ├── CollectorRefusedError           the OTLP collector will never take this, as it is set up
            ├── OffsetMetadataError             offset metadata of a newer version, or too large
            └── MigrationError                  the migrations and the database do not agree
                ├── MigrationFilesError             numbers missing or given twice
                ├── MigrationChangedError           a file was changed after it was applied
                ├── MigrationUnknownError           the database is ahead of this version
                └── MigrationFailedError            ClickHouse refused a statement

Messages never carry what a row holds, nor ClickHouse's own text, which may quote it: they carry its error code.
"""

from tachograph.schemas.errors import TachographError


class SinkError(TachographError):
    """Root of all errors of the sinks."""


class TransientError(SinkError):
    """Retry: nothing has to be changed by anybody."""


class ClickHouseUnreachableError(TransientError):
    """No connection, or no answer in time. The insert may have landed: retry it under the same token."""


class ClickHouseBusyError(TransientError):
    """ClickHouse answers, but cannot take an insert now."""


class BrokerTroubleError(TransientError):
    """Kafka did not answer a commit or a question. Join again and start from what is committed."""


class CollectorUnreachableError(TransientError):
    """The OTLP collector did not take a batch for as long as it was tried. Send from the last position again."""


class OwnershipLostError(SinkError):
    """The group has gone on without us. Drop what is in hand; the next owner finds the plan and repeats it."""


class RowsRefusedError(SinkError):
    """ClickHouse will never take this block as it is: at least one row in it has to become a dead letter."""

    def __init__(self, message: str, *, code: int) -> None:
        super().__init__(message)
        self.code = code


class StopError(SinkError):
    """Stop and tell the operator. A retry gives the same answer."""


class WrongPasswordError(StopError):
    """ClickHouse does not know this account and password."""


class MissingGrantError(StopError):
    """The account may not do what it is for."""


class MissingTableError(StopError):
    """A table or column is not there."""


class MissingTopicError(StopError):
    """A topic is not there."""


class UnreachableAtStartError(StopError):
    """A server did not answer when the sink started. While it runs, a silent server is waited for."""


class FencedError(StopError):
    """A second sink joined the group under the same instance id."""


class DeadLetterLimitError(StopError):
    """So many rows in a row are refused that the cause is not in the rows."""


class DeadLetterUndeliveredError(StopError):
    """The dead-letter topic did not take a refused row. Its offset is not committed, so it is not lost."""


class CollectorRefusedError(StopError):
    """The OTLP collector gave an answer that does not pass by itself."""


class OffsetMetadataError(StopError):
    """Offset metadata that this version must not overwrite, or that does not fit."""


class MigrationError(StopError):
    """The migrations and the database do not agree. Nothing was changed."""


class MigrationFilesError(MigrationError):
    """Numbers of migration files are missing or given twice."""


class MigrationChangedError(MigrationError):
    """A file was changed after it was applied."""


class MigrationUnknownError(MigrationError):
    """The database has a migration that this version does not."""


class MigrationFailedError(MigrationError):
    """ClickHouse refused a statement. What came before it stays; running again continues."""
