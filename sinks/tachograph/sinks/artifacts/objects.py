"""Bytes by path, in a local folder or an S3-compatible store, through one library. Lower errors become ours."""

from collections.abc import Awaitable, Iterator
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar
from urllib.parse import unquote, urlsplit

import obstore
from obstore.exceptions import AlreadyExistsError, BaseError, NotFoundError
from obstore.store import LocalStore, ObjectStore, from_url

from tachograph.schemas.errors import ConfigError
from tachograph.sinks.artifacts.errors import StoreUnavailableError
from tachograph.sinks.artifacts.paths import checked, checked_in

if TYPE_CHECKING:
    from obstore.store import ClientConfig, RetryConfig

__all__ = ["Objects", "opened"]

T = TypeVar("T")
_CHUNK: Final = 1000
# The library's own patience is three minutes: whoever asks here can ask again, and a person waits at the command line.
_RETRIES: "Final[RetryConfig]" = {
    "max_retries": 3,
    "retry_timeout": timedelta(seconds=30),
    "backoff": {"init_backoff": timedelta(milliseconds=100), "max_backoff": timedelta(seconds=2), "base": 2},
}
_CLIENT: "Final[ClientConfig]" = {
    "connect_timeout": timedelta(seconds=5),
    "timeout": timedelta(seconds=60),
    "allow_http": True,  # where the operator's own endpoint says so; what is sent is sealed
}


class Objects:
    """A flat store of small files. ``root`` is set where it is a local folder: symbolic links below it are refused."""

    def __init__(self, store: ObjectStore, root: Path | None = None) -> None:
        self._store = store
        self._root = root

    async def put(self, path: str, data: bytes) -> None:
        """Write the whole or nothing. What was there is replaced."""
        await self._answer(obstore.put_async(self._store, self._safe(path), data))

    async def put_new(self, path: str, data: bytes) -> None:
        """Write only if nothing is there; what is there stays."""
        with suppress(AlreadyExistsError, FileExistsError):
            await self._answer(obstore.put_async(self._store, self._safe(path), data, mode="create"))

    async def get(self, path: str) -> bytes | None:
        """The bytes, None where there are none."""
        try:
            found = await self._answer(obstore.get_async(self._store, self._safe(path)))
            return bytes(await self._answer(found.bytes_async()))
        except FileNotFoundError:
            return None

    async def delete(self, path: str) -> None:
        """Remove; what is not there is removed already."""
        try:
            await self._answer(obstore.delete_async(self._store, self._safe(path)))
        except FileNotFoundError:
            return

    def paths(self, prefix: str) -> Iterator[str]:
        """Everything below a folder, in no order."""
        try:
            for chunk in obstore.list(self._store, prefix, chunk_size=_CHUNK):
                for found in chunk:
                    yield found["path"]
        except (BaseError, OSError) as error:
            raise _unavailable(error) from None

    def _safe(self, path: str) -> str:
        return checked(path) if self._root is None else checked_in(self._root, path)

    @staticmethod
    async def _answer(answer: Awaitable[T]) -> T:
        try:
            return await answer
        except (NotFoundError, FileNotFoundError):
            raise FileNotFoundError from None
        except (AlreadyExistsError, FileExistsError):
            raise
        except (BaseError, OSError) as error:
            raise _unavailable(error) from None


def opened(url: str, folder: Path) -> Objects:
    """The store at an address; without one, the local folder, made if it is not there."""
    parts = urlsplit(url)
    try:
        if not url or parts.scheme == "file":
            root = (Path(unquote(parts.path)) if url else folder).absolute()
            root.mkdir(mode=0o700, parents=True, exist_ok=True)
            return Objects(LocalStore(root), root)
        if parts.scheme == "s3":
            return Objects(from_url(url, retry_config=_RETRIES, client_options=_CLIENT))
    except (BaseError, OSError, ValueError) as error:
        raise ConfigError(
            f"the artifact store cannot be opened ({type(error).__name__}): check artifacts.url, and AWS_… for s3"
        ) from None
    raise ConfigError("artifacts.url is an s3:// or file:// address, or empty for the folder of the local stack")


def _unavailable(error: Exception) -> StoreUnavailableError:
    return StoreUnavailableError(
        f"the artifact store does not answer ({type(error).__name__}): check artifacts.url and the store's own log"
    )
