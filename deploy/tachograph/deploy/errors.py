# ruff: noqa: N818  # each name is what happened; all of them are StackErrors
"""What can go wrong with the local stack, and what to do about it.

::

    StackError                 the stack cannot do what was asked; the sentence says what to do next
    ├── BrokerUnreachable      Kafka does not answer: is it running, is the address right?
    ├── AlreadyRunning         another supervisor owns this state folder: stop it, or use another folder
    ├── DiskFull               too little free space to start safely: make room, or move the folder
    ├── DownloadFailed         Kafka's jars could not be fetched whole: check the network, run it again
    ├── PortTaken              a port is in use by another program: free it, or configure another
    ├── RuntimeMissing         the packages that bring the servers are not installed
    ├── ServerDied             a server ended while it was starting: read its log
    ├── StartTimeout           a server did not answer in time: read its log
    ├── StateDamaged           a file of the state folder cannot be read: the sentence names it
    ├── StopTimeout            processes outlived the request to stop: the sentence names them
    ├── TopicConflict          a topic exists with another partition count: a person must decide
    └── WrongVersion           data written by another version: nothing was touched

None of them is worth an automatic retry: each needs a person, or a changed setting.
No message holds a password; logs are named by path and never quoted, because they may hold content.
"""

from pathlib import Path

from tachograph.schemas.errors import TachographError


class StackError(TachographError):
    """The local stack cannot do what was asked. The message is a sentence for the person at the terminal."""


class AlreadyRunning(StackError):
    """Another supervisor owns the state folder."""

    def __init__(self, home: Path, pid: int | None) -> None:
        owner = f"process {pid}" if pid is not None else "another process"
        super().__init__(
            f"a stack is already running from {home} ({owner}). "
            "Stop it with `tachograph down`, or start another one in its own folder with TACHOGRAPH_HOME."
        )
        self.pid = pid


class DiskFull(StackError):
    """There is too little free space to start without risking the data."""


class DownloadFailed(StackError):
    """Kafka's jars could not be fetched whole. What was fetched is kept only if it is intact."""


class PortTaken(StackError):
    """A configured port is in use by another program."""

    def __init__(self, port: int, setting: str) -> None:
        super().__init__(
            f"port {port} on 127.0.0.1 is taken by another program. "
            f"Stop that program, or set {setting} to another port (0 picks a free one)."
        )
        self.port = port
        self.setting = setting


class RuntimeMissing(StackError):
    """The packages that bring the servers are not installed, or do not work on this machine."""


class ServerDied(StackError):
    """A server ended while it was starting."""

    def __init__(self, name: str, log: Path) -> None:
        super().__init__(f"{name} ended while starting. The last lines of {log} say why.")
        self.name = name
        self.log = log


class StartTimeout(StackError):
    """A server is running but did not answer in time."""

    def __init__(self, name: str, seconds: float, log: Path) -> None:
        super().__init__(
            f"{name} did not answer within {seconds:.0f} s. See {log}; on a loaded machine, try again when it is quiet."
        )
        self.name = name
        self.log = log


class StateDamaged(StackError):
    """A file of the state folder is not what was written there."""


class StopTimeout(StackError):
    """Some processes outlived the request to stop."""


class WrongVersion(StackError):
    """A data folder was written by another version. It was left as it is."""


class BrokerUnreachable(StackError):
    """Kafka did not answer, or refused."""

    def __init__(self, servers: str, reason: str = "no answer") -> None:
        super().__init__(
            f"Kafka at {servers} cannot be used ({reason}). Start the local stack with `tachograph up`, "
            "or set TACHOGRAPH_KAFKA__BOOTSTRAP_SERVERS, and if it is secured __SECURITY_PROTOCOL and what that needs."
        )


class TopicConflict(StackError):
    """A topic has another partition count than the settings say. Changing it would send runs elsewhere."""

    def __init__(self, found: dict[str, int], wanted: int) -> None:
        names = ", ".join(f"{name} ({count})" for name, count in sorted(found.items()))
        super().__init__(
            f"topics exist with another partition count than {wanted}: {names}. Nothing was changed. "
            "Set TACHOGRAPH_KAFKA__PARTITIONS to the count they have, or delete the topics with their data."
        )
