"""`tachograph artifacts` on a store in a folder: what people see, and what goes when."""

import asyncio
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from tachograph.console.cli.app import app
from tachograph.schemas.enums import RetentionClass
from tachograph.schemas.settings import Settings
from tachograph.sinks.artifacts import Entry, open_store
from tachograph.sinks.artifacts.entry import micros

DAY = 86_400_000_000
CANARY = b"canary: what the agent saw"


def stored(home: Path, data: bytes, *, days_old: float = 0, **fields: Any) -> Entry:
    store = open_store(Settings(home=home), create_keys=True)
    created = micros(datetime.now(UTC)) - round(days_old * DAY)
    return asyncio.run(store.put(data, tenant_id="default", subject="run:1", created_at=created, **fields))


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TACHOGRAPH_HOME", str(tmp_path))
    return tmp_path


def artifacts(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["artifacts", *arguments])


def states() -> dict[str, str]:
    return {row["artifact_id"]: row["state"] for row in json.loads(artifacts("ls", "--json").stdout)}


def test_what_is_stored_is_listed_read_and_verified(home: Path) -> None:
    """A listing without content, the content for whoever has the key, and damage found without one."""
    entry = stored(home, CANARY)
    assert states() == {entry.artifact_id: "stored"}
    assert CANARY.decode() not in artifacts("ls", "--json").stdout
    assert artifacts("get", entry.artifact_id).stdout_bytes == CANARY
    assert artifacts("verify").exit_code == 0
    (home / "artifacts" / entry.path).write_bytes(b"something else")
    damaged = artifacts("verify", "--json")
    assert damaged.exit_code == 1
    assert "not those that were written" in json.loads(damaged.stdout)[0]["result"]


def test_the_first_digits_of_an_id_are_enough(home: Path) -> None:
    """As the listing shows them, on one line each; digits that two have, or none, are said to be so."""
    entries = [stored(home, CANARY + bytes([number])) for number in range(20)]
    first = entries[0].artifact_id
    listed = artifacts("ls").stdout.splitlines()
    assert len(listed) == 1 + len(entries)
    assert any(line.startswith(f"{first[:8]} ") for line in listed)
    assert artifacts("get", first[:12]).stdout_bytes == CANARY + b"\0"
    [verified] = json.loads(artifacts("verify", first[:8], "--json").stdout)
    assert (verified["artifact_id"], verified["result"]) == (first, "ok")
    assert "64 hexadecimal digits" in str(artifacts("get", first[:7]).exception)
    assert "no artifact whose id begins so" in str(artifacts("get", "f" * 12).exception)


def test_a_bit_that_flips_on_the_disk_is_told_when_read(home: Path) -> None:
    """Whichever it is: nothing is written to stdout, and the exit code says that something is wrong."""
    entry = stored(home, CANARY)
    path = home / "artifacts" / entry.path
    sealed = path.read_bytes()
    for place in range(len(sealed)):
        path.write_bytes(sealed[:place] + bytes([sealed[place] ^ 1 << place % 8]) + sealed[place + 1 :])
        read = artifacts("get", entry.artifact_id)
        assert (read.exit_code, read.stdout_bytes) == (1, b"")
        assert "not those that were written" in str(read.exception)


def test_snapshots_go_when_the_policy_says_and_manifests_stay_longer(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By class and by the days that are set; what would go can be seen before; the tombstone says what went."""
    monkeypatch.setenv("TACHOGRAPH_ARTIFACTS__SHORT_DAYS", "3")
    old = stored(home, b"an old snapshot", days_old=3.5)
    young = stored(home, b"a young snapshot", days_old=2.5)
    other = stored(home, b"an old artifact", days_old=3.5, retention=RetentionClass.STANDARD)
    assert [row["artifact_id"] for row in json.loads(artifacts("gc", "--dry-run", "--json").stdout)] == [
        old.artifact_id
    ]
    assert set(states().values()) == {"stored"}
    assert [row["reason"] for row in json.loads(artifacts("gc", "--json").stdout)] == ["retention short"]
    assert states() == {old.artifact_id: "expired", young.artifact_id: "stored", other.artifact_id: "stored"}
    assert not (home / "artifacts" / old.path).exists()
    assert artifacts("gc", "--json").stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        pytest.param(["--reason", "r"], "name what to erase", id="nobody named"),
        pytest.param(["--run", "1", "--subject", "x", "--reason", "r"], "name what to erase", id="two named"),
        pytest.param(["--run", "1", "--reason", " "], "say why", id="no reason"),
    ],
)
def test_an_erasure_that_is_not_meant_erases_nothing(home: Path, arguments: list[str], says: str) -> None:
    """A sentence, and everything is as it was."""
    entry = stored(home, CANARY)
    refused = artifacts("erase", *arguments, "--yes")
    assert says in str(refused.exception)
    assert artifacts("erase", "--run", "1", "--reason", "r").exit_code == 1, "nobody said yes"
    assert states() == {entry.artifact_id: "stored"}
