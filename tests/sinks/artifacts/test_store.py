"""The artifact store: what goes in comes out, and nothing else does."""

import asyncio
import dataclasses
import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from obstore.store import MemoryStore

import tachograph.sinks.artifacts as package
from tachograph.producers.artifacts import ArtifactKey, FolderArtifactWriter, seal
from tachograph.producers.captures import CaptureKey, capture_messages
from tachograph.schemas.enums import FaultTrigger, RetentionClass, SnapshotKind
from tachograph.schemas.errors import ConfigError
from tachograph.schemas.headers import Header
from tachograph.schemas.settings import ArtifactSettings, Settings
from tachograph.sinks.artifacts import ArtifactStore, Entry, FolderKeys, Objects, State, TenantKey, open_store
from tachograph.sinks.artifacts.capture import CaptureBlob, opened_capture, packed, unpacked
from tachograph.sinks.artifacts.errors import (
    ArtifactDamagedError,
    ArtifactErasedError,
    ArtifactExpiredError,
    ArtifactMissingError,
    NoKeyError,
    StoreUnavailableError,
    UnsafePathError,
    WrongKeyError,
)
from tachograph.sinks.artifacts.objects import opened
from tachograph.sinks.artifacts.paths import checked, entry_path, subject_path
from tachograph.sinks.artifacts.sealed import AGENT_VERSION, SealingKey
from tests.sinks.artifacts.s3 import BUCKET, endpoint

NOW = 1_780_000_000_000_000
DAY = 86_400_000_000
CANARY = b"canary: what the agent saw"


class OneKey:
    """The same key for every tenant."""

    def __init__(self, byte: int = 7) -> None:
        self._key = TenantKey(bytes([byte]) * 32)

    def of(self, tenant_id: str) -> TenantKey:  # noqa: ARG002 - a tenant's key, whoever it is
        return self._key


@pytest.fixture(params=["folder", "memory", "s3"])
def objects(request: pytest.FixtureRequest, tmp_path: Path) -> Objects:
    """The same contract on every kind of store."""
    if request.param == "s3":
        request.getfixturevalue("s3")
        return opened(f"s3://{BUCKET}/{tmp_path.name}", tmp_path)
    return opened("", tmp_path / "store") if request.param == "folder" else Objects(MemoryStore())


@pytest.fixture
def store(objects: Objects) -> ArtifactStore:
    return ArtifactStore(objects, OneKey())


async def put(store: ArtifactStore, data: bytes = CANARY, **fields: Any) -> Entry:
    given: dict[str, Any] = {"tenant_id": "acme", "subject": "run:1", "created_at": NOW, "record": {"id": 1}}
    return await store.put(data, **given | fields)


def test_what_goes_in_comes_out_and_again_changes_nothing(store: ArtifactStore) -> None:
    """Content-addressed: the same content is the same artifact, the same bytes and the same entry."""

    async def check() -> None:
        first = await put(store)
        sealed = await store.sealed(first)
        again = await put(store, created_at=NOW + DAY)
        assert again == first
        assert await store.sealed(again) == sealed
        assert await store.get("acme", first.artifact_id) == CANARY
        assert CANARY not in sealed
        assert [entry async for entry in store.entries()] == [first]

    asyncio.run(check())


def test_names_tell_nothing_and_are_shared_with_nobody(objects: Objects) -> None:
    """The same content of another subject, or under another tenant's key, has another name."""

    async def check() -> None:
        one, other = ArtifactStore(objects, OneKey()), ArtifactStore(objects, OneKey(8))
        entries = [await put(one), await put(one, subject="run:2"), await put(other, tenant_id="else")]
        assert len({entry.artifact_id for entry in entries}) == 3
        assert not any("run:1" in path for path in objects.paths("tenants"))

    asyncio.run(check())


def test_names_need_the_tenant_s_key() -> None:
    """Who guesses a content or a subject cannot tell by a name whether it is here: each key gives its own."""
    one, other = OneKey(7).of("acme"), OneKey(8).of("acme")
    assert one.artifact_name("subject", CANARY) != other.artifact_name("subject", CANARY)
    assert one.subject_name("run:1") != other.subject_name("run:1")


def test_a_subject_s_data_key_is_random() -> None:
    """Nobody who has the tenant's key and the content makes it again: what destroyed it destroyed the content."""

    async def sealed(subject: str) -> bytes:
        store = ArtifactStore(Objects(MemoryStore()), OneKey())
        return await store.sealed(await put(store, subject=subject))

    key_ids = {asyncio.run(sealed(subject))[1:9] for subject in ("run:1", "run:1", "run:2")}
    assert len(key_ids) == 3


def test_other_content_under_an_artifact_s_name_is_noticed(objects: Objects, store: ArtifactStore) -> None:
    """Also where somebody with the tenant's key sealed it and changed the entry to fit."""

    async def check() -> None:
        entry = await put(store)
        held = await objects.get(subject_path("acme", entry.subject_name))
        assert held is not None
        data_key = OneKey().of("acme").unwrap(bytes.fromhex(json.loads(held)["wrapped"]), entry.subject_name)
        forged = SealingKey(data_key).seal(b"something else", entry.artifact_id)
        changed = dataclasses.replace(entry, hash=hashlib.sha256(forged).hexdigest())
        await objects.put(entry.path, forged)
        await objects.put(entry_path("acme", entry.artifact_id), changed.to_bytes())
        with pytest.raises(ArtifactDamagedError, match="somebody put it there"):
            await store.get("acme", entry.artifact_id)

    asyncio.run(check())


@given(st.binary(max_size=3000), st.integers(min_value=0))
def test_any_changed_byte_is_noticed(data: bytes, where: int) -> None:
    """By the hash, without a key; and by the seal, if the entry was changed along with the bytes."""
    key = SealingKey(bytes(32))
    sealed = bytearray(key.seal(data, "id"))
    assert key.open(bytes(sealed), "id") == data
    sealed[where % len(sealed)] ^= 1
    with pytest.raises((ArtifactDamagedError, WrongKeyError)):
        key.open(bytes(sealed), "id")


def test_damage_and_absence_have_their_own_errors(objects: Objects, store: ArtifactStore) -> None:
    """Changed, gone, under another name, never there: each says what it is."""

    async def check() -> None:
        entry, other = await put(store), await put(store, b"other")
        sealed = await store.sealed(entry)
        await objects.put(entry.path, sealed[:-1] + bytes([sealed[-1] ^ 1]))
        with pytest.raises(ArtifactDamagedError, match="not those that were written"):
            await store.get("acme", entry.artifact_id)
        await objects.put(entry.path, await store.sealed(other))
        swapped = dataclasses.replace(entry, hash=other.hash)
        await objects.put(entry.path.replace("blobs", "entries").replace(".sealed", ".json"), swapped.to_bytes())
        with pytest.raises(ArtifactDamagedError, match="another name"):
            await store.get("acme", entry.artifact_id)
        await objects.delete(other.path)
        with pytest.raises(ArtifactDamagedError, match="nobody removed"):
            await store.get("acme", other.artifact_id)
        with pytest.raises(ArtifactMissingError):
            await store.get("acme", "0" * 64)
        with pytest.raises(UnsafePathError):
            await store.get("acme", "../../etc/passwd")

    asyncio.run(check())


def test_another_tenant_key_opens_nothing(objects: Objects) -> None:
    """Neither for reading nor for adding to a subject."""

    async def check() -> None:
        entry = await put(ArtifactStore(objects, OneKey()))
        with pytest.raises(WrongKeyError):
            await ArtifactStore(objects, OneKey(9)).get("acme", entry.artifact_id)

    asyncio.run(check())


def test_retention_removes_bytes_and_leaves_the_entry(store: ArtifactStore) -> None:
    """By class, and not a microsecond early."""
    settings = ArtifactSettings(short_days=14, standard_days=90)

    async def check() -> None:
        short = await put(store)
        await put(store, b"kept", retention=RetentionClass.STANDARD)
        assert await store.due(NOW + 14 * DAY - 1, settings) == []
        assert await store.due(NOW + 14 * DAY, settings) == [short]
        going = await store.expire(short, NOW + 14 * DAY)
        # A collector that died here finds it again, and the time of the removal stays what it was.
        [found] = await store.due(NOW + 15 * DAY, settings)
        assert await store.expire(found, NOW + 15 * DAY) == going
        await store.expired(going)
        assert await store.due(NOW + 15 * DAY, settings) == []
        assert (going.deleted_at, going.record) == (NOW + 14 * DAY, {"id": 1})
        with pytest.raises(ArtifactExpiredError):
            await store.get("acme", short.artifact_id)
        assert (await put(store)).state is State.EXPIRED, "a repeat does not bring it back"

    asyncio.run(check())


def test_snapshots_cannot_be_kept_as_long_as_manifests() -> None:
    """The setting itself refuses it."""
    with pytest.raises(ValueError, match="less than or equal to 89"):
        ArtifactSettings(short_days=90)


def test_erasure_destroys_key_and_blobs_and_stays(objects: Objects, store: ArtifactStore) -> None:
    """A copy of the blob that was kept opens no more; the result says what a record needs; again is harmless."""

    async def check() -> None:
        entry, other = await put(store), await put(store, subject="run:2")
        sealed = await store.sealed(entry)
        name = store.subject_name("acme", "run:1")
        done = await store.erase("acme", name, now=NOW + 5, reason="request 17")
        assert (done.tenant_id, done.subject_name, done.erased_at, done.reason) == ("acme", name, NOW + 5, "request 17")
        assert [(item.artifact_id, item.state, item.deleted_at) for item in done.artifacts] == [
            (entry.artifact_id, State.ERASED, NOW + 5)
        ]
        assert done.key_id == sealed[1:9].hex()
        with pytest.raises(ArtifactErasedError, match="request 17"):
            await store.get("acme", entry.artifact_id)
        await objects.put(entry.path, sealed)
        with pytest.raises(ArtifactErasedError):
            await put(store)
        assert await store.get("acme", other.artifact_id) == CANARY
        assert await store.erase("acme", name, now=NOW + 9, reason="again") == done
        assert not done.recorded
        await store.recorded(done)
        assert await store.erase("acme", name, now=NOW + 9, reason="again") == dataclasses.replace(done, recorded=True)
        assert not list(filter(lambda path: path == entry.path, objects.paths("tenants")))

    asyncio.run(check())


@pytest.mark.parametrize("path", ["/etc/passwd", "../x", "a/../b", "a//b", "./a", "", "a\\b", "a\0b", "a/"])
def test_paths_stay_below_the_root(path: str) -> None:
    """Absolute, climbing, or not in normal form: refused."""
    with pytest.raises(UnsafePathError):
        checked(path)


@pytest.mark.parametrize("tenant", ["..", "../../x", "/", "a/b", "."])
def test_a_tenant_name_is_no_path(tmp_path: Path, tenant: str) -> None:
    """Whatever a tenant is called, its files are below the store, and its key below the key folder."""
    settings = Settings(home=tmp_path / "home")
    store = open_store(settings, create_keys=True)
    entry = asyncio.run(put(store, tenant_id=tenant))
    assert asyncio.run(store.get(tenant, entry.artifact_id)) == CANARY
    assert {path.name for path in tmp_path.iterdir()} == {"home"}
    assert {path.name for path in (tmp_path / "home").iterdir()} == {"artifacts", "keys"}


@pytest.mark.parametrize("link", ["tenants", "tenants/acme/blobs"])
def test_a_link_out_of_the_store_is_refused(tmp_path: Path, link: str) -> None:
    """Writing and reading: nothing lands or comes from elsewhere."""
    outside = tmp_path / "outside"
    outside.mkdir()
    place = tmp_path / "store" / link
    place.parent.mkdir(parents=True)
    place.symlink_to(outside)
    with pytest.raises(UnsafePathError, match="symbolic link"):
        asyncio.run(put(ArtifactStore(opened("", tmp_path / "store"), OneKey())))
    assert list(outside.iterdir()) == []


@pytest.mark.parametrize("what", ["path", "entry"])
def test_a_link_is_neither_read_nor_followed_for_removal(tmp_path: Path, what: str) -> None:
    """A blob or an entry that somebody replaced by a link: what lies behind it is not read, and stays."""
    root, outside = tmp_path / "store", tmp_path / "outside"
    store = ArtifactStore(opened("", root), OneKey())
    entry = asyncio.run(put(store))
    inside = root / (entry.path if what == "path" else entry_path("acme", entry.artifact_id))
    inside.rename(outside)
    inside.symlink_to(outside)
    kept = outside.read_bytes()
    with pytest.raises(UnsafePathError, match="symbolic link"):
        asyncio.run(store.get("acme", entry.artifact_id))
    with pytest.raises(UnsafePathError, match="symbolic link"):
        asyncio.run(store.expire(entry, NOW))
    assert outside.read_bytes() == kept


@pytest.mark.parametrize(
    ("prepare", "says"),
    [
        pytest.param(lambda path: None, "is not at", id="no file"),  # noqa: ARG005 - nothing to prepare
        pytest.param(lambda path: path.write_text("zz"), "cannot be read", id="not hexadecimal"),
        pytest.param(lambda path: path.write_text("00"), "64 hexadecimal digits", id="too short"),
    ],
)
def test_a_key_that_is_not_there_is_a_sentence(tmp_path: Path, prepare: Callable[[Path], Any], says: str) -> None:
    """It names the file."""
    path = tmp_path / "acme.key"
    prepare(path)
    if path.exists():
        path.chmod(0o600)
    with pytest.raises(NoKeyError, match=says):
        FolderKeys(tmp_path).of("acme")


def test_a_key_that_others_can_read_is_refused(tmp_path: Path) -> None:
    """And one that we made is not such a key."""
    assert FolderKeys(tmp_path, create=True).of("acme").key_id == FolderKeys(tmp_path).of("acme").key_id
    (tmp_path / "acme.key").chmod(0o644)
    with pytest.raises(package.ArtifactStoreError, match="0600"):
        FolderKeys(tmp_path).of("acme")


@pytest.mark.parametrize("url", ["ftp://x/y", "nonsense"])
def test_an_address_that_is_none_is_a_wrong_setting(tmp_path: Path, url: str) -> None:
    """Said before anything is written."""
    with pytest.raises(ConfigError, match=r"artifacts\.url"):
        opened(url, tmp_path)


def test_two_writers_that_are_first_at_once_seal_with_one_key(objects: Objects) -> None:
    """The object store decides which of two data keys is the subject's; the other is never used."""

    async def check() -> None:
        stores = [ArtifactStore(objects, OneKey()) for _ in range(8)]
        entries = await asyncio.gather(*(put(store, f"{n}".encode()) for n, store in enumerate(stores)))
        for number, entry in enumerate(entries):
            assert await stores[0].get("acme", entry.artifact_id) == f"{number}".encode()

    asyncio.run(check())


def test_an_object_store_that_is_away_is_a_sentence(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Not three minutes of silence, and nothing of what was to be stored."""
    for name, value in endpoint("http://127.0.0.1:1").items():
        monkeypatch.setenv(name, value)
    away = ArtifactStore(opened(f"s3://{BUCKET}/x", tmp_path), OneKey())
    with pytest.raises(StoreUnavailableError, match=r"artifacts\.url") as raised:
        asyncio.run(put(away))
    assert CANARY.decode() not in str(raised.value)


def test_an_artifact_that_an_agent_sealed_can_be_opened(tmp_path: Path) -> None:
    """The two sides share a format and no code."""
    assert SealingKey(bytes(32), AGENT_VERSION).open(seal(ArtifactKey(bytes(32)), CANARY), "any") == CANARY
    pointer = FolderArtifactWriter(tmp_path).put(CANARY, suffix=".txt")
    key = (tmp_path / ".tachograph/artifacts/artifact.key").read_bytes()
    assert SealingKey(key, AGENT_VERSION).open((tmp_path / pointer.path).read_bytes(), "") == CANARY


@given(st.binary(max_size=200), st.integers(min_value=1, max_value=3))
def test_a_capture_survives_the_blob(data: bytes, repeat: int) -> None:
    """What the recorder encrypted, packed, unpacked and opened with the recorder's key, is what it was."""
    key = CaptureKey(bytes(range(32)))
    data *= repeat
    messages = capture_messages(
        key,
        data,
        trace_id="t",
        run_id="r",
        capture_id="c",
        kind=SnapshotKind.PROMPT,
        trigger=FaultTrigger.TOOL_ERROR,
        step_id=None,
        tool_use_id=None,
    )
    headers = dict(messages[0].headers)
    capture = CaptureBlob(
        trace_id="t",
        capture_id="c",
        kind="prompt",
        key_id=headers[Header.CAPTURE_KEY.value].decode(),
        sha256=headers[Header.CAPTURE_SHA256.value].decode(),
        parts=tuple(message.value for message in messages),
    )
    assert unpacked(packed(capture)) == capture
    assert opened_capture(unpacked(packed(capture)), bytes(range(32))) == data
    with pytest.raises(WrongKeyError):
        opened_capture(capture, bytes(32))
    with pytest.raises(ArtifactDamagedError):
        opened_capture(dataclasses.replace(capture, trace_id="moved"), bytes(range(32)))
    with pytest.raises(ArtifactDamagedError):
        unpacked(packed(capture)[:-1])


def test_the_package_exports_what_it_promises() -> None:
    """A short, sorted list; the rest is reached by full path."""
    assert package.__all__ == sorted(package.__all__, key=lambda name: (not name[0].isupper(), name))
    assert all(hasattr(package, name) for name in package.__all__)


def test_what_is_protected_outlives_what_is_short(store: ArtifactStore) -> None:
    """Bytes of a run that is kept go when those of class ``protected`` do; what is gone is not protected again."""
    settings = ArtifactSettings()

    async def work() -> None:
        kept, other = await put(store), await put(store, b"other")
        assert await store.protect(kept)
        assert not await store.protect(kept), "it is already"
        later = NOW + 15 * DAY
        assert [entry.artifact_id for entry in await store.due(later, settings)] == [other.artifact_id]
        assert await store.get("acme", kept.artifact_id) == CANARY
        await store.expire(other, later)
        assert not await store.protect(other)
        assert kept.artifact_id in [entry.artifact_id for entry in await store.due(NOW + 730 * DAY, settings)]

    asyncio.run(work())
