"""Every error the contract raises, and what its catcher should do.

::

    TachographError
    ├── ConfigError            stop: a setting is wrong; the message says which
    │   └── DocumentError          a file that a person wrote is wrong; the message says where
    ├── WireError              dead-letter: these bytes will never decode
    │   ├── EmptyMessageError      no bytes at all
    │   ├── UnknownFramingError    neither single-object nor Confluent framing
    │   ├── UnknownSchemaError     well framed, but a fingerprint or id we do not have
    │   ├── TruncatedError         the record ends before its schema does
    │   ├── TrailingBytesError     bytes are left over after the record
    │   ├── MalformedError         the bytes contradict their schema
    │   └── WrongTypeError         a sound record, but not of the type asked for
    ├── EncodeError            stop: our own code handed the codec something its schema does not allow
    └── RegistryError          retry: the schema registry did not answer

Messages never carry bytes or values of a record: a record holds what an agent said and saw.
"""


class TachographError(Exception):
    """Root of all errors raised by Tachograph."""


class ConfigError(TachographError):
    """A setting is missing or wrong. Stop and tell the operator."""


class DocumentError(ConfigError):
    """A file that a person wrote does not say what it must. One mistake a line, each with file and line number."""


class WireError(TachographError):
    """Bytes that are not a record. Dead-letter them; a retry gives the same answer."""


class EmptyMessageError(WireError):
    """A message without a value."""


class UnknownFramingError(WireError):
    """The first bytes are neither ``C3 01`` nor ``00``."""


class UnknownSchemaError(WireError):
    """The framing is sound, but names a schema that this version does not have."""


class TruncatedError(WireError):
    """The record ends before its schema does."""


class TrailingBytesError(WireError):
    """The record is complete and bytes are left over."""


class MalformedError(WireError):
    """The bytes contradict the schema they name."""


class WrongTypeError(WireError):
    """A sound record of another type than the caller can use."""


class EncodeError(TachographError):
    """A value does not fit its schema. A bug in the caller, never in the input."""


class RegistryError(TachographError):
    """The schema registry could not be asked. Retry."""
