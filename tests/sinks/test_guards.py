"""The database's own line of defence: what it refuses whoever writes it, and that its refusals tell nothing."""

import io
import json
import re
from collections.abc import Iterator
from typing import Any

import clickhouse_connect
import fastavro
import pytest
from clickhouse_connect.driver.client import Client
from clickhouse_connect.driver.exceptions import DatabaseError

from tachograph.schemas.headers import Header
from tachograph.schemas.models.base import MAX_CONTENT_BYTES
from tachograph.schemas.privacy import BLOCKED_METADATA_KEYS, blocked_name
from tachograph.schemas.settings import Settings
from tachograph.schemas.tables import TABLES, Table
from tachograph.schemas.wire import load_catalogue
from tests.deploy.test_roles import Refused, login
from tests.sinks.conftest import Place
from tests.sinks.rows import encoded, sample_row
from tests.sinks.running import eventually, running_sink

pytestmark = pytest.mark.stack

SECRET = "hunter2-is-my-password"
REFUSED = 469
WITH_METADATA = [table.name for table in TABLES if "metadata" in {column.name for column in table.columns}]
UNCOUNTED = {("decision_records", "body"), ("log_heads", "note")}
"""The record itself, whose parts are counted, and what is signed over all logs."""


@pytest.fixture(scope="module")
def sink(stack: Settings) -> Iterator[Client]:
    house = stack.clickhouse
    with clickhouse_connect.get_client(
        host=house.host,
        port=house.http_port,
        username=house.sink_user,
        password=house.sink_password.get_secret_value(),
    ) as client:
        yield client


def insert(sink: Client, table: str, **changes: Any) -> str | None:
    """Insert a row as the sink does. Returns what ClickHouse said if it refused, word for word."""
    schema = load_catalogue().latest(f"rows.{table}").plain
    row = sample_row(table, 0, **({"tenant_id": "guarded"} | changes))
    file = io.BytesIO()
    fastavro.writer(file, fastavro.parse_schema(schema), [row])
    try:
        sink.raw_insert(
            f"tachograph.{table}", column_names=list(row), insert_block=file.getvalue(), fmt="Avro", settings=SETTINGS
        )
    except DatabaseError as error:
        if error.code != REFUSED:
            raise
        return str(error)
    return None


SETTINGS = {"async_insert": 0, "insert_deduplicate": 0}

HIDDEN_KEYS = [
    pytest.param({"prompt": SECRET}, id="as it is"),
    pytest.param({"Pro\u200bmpt ": SECRET}, id="in another case, padded"),
    pytest.param({SECRET: "1", "chain of thought": "x"}, id="beside a key that is itself a secret"),
    pytest.param({"note": json.dumps({"prompt": SECRET})}, id="in JSON text"),
    pytest.param({"note": json.dumps([[{"a": {"b": [{" REASONING": SECRET}]}}]])}, id="deep in JSON text"),
    pytest.param({"note": json.dumps({"a": json.dumps({"prompt": SECRET})})}, id="in JSON text within JSON text"),
    pytest.param({"note": '{"\\u0070rompt": "' + SECRET + '"}'}, id="with escapes"),
    pytest.param({"note": str({"prompt": SECRET})}, id="as Python writes it"),
    pytest.param({"note": '{"prompt" : "' + SECRET}, id="in JSON text that was cut off"),
]


@pytest.mark.parametrize("metadata", HIDDEN_KEYS)
def test_a_blocked_key_is_refused_wherever_it_hides(sink: Client, metadata: dict[str, str]) -> None:
    """And the refusal does not say what was in the row, not even a key."""
    said = insert(sink, "agent_decisions", metadata=metadata)
    assert said is not None
    assert SECRET not in said


@pytest.mark.parametrize("table", WITH_METADATA)
def test_every_table_with_metadata_has_the_guard(sink: Client, table: str) -> None:
    """Keys at the top and inside."""
    for metadata in ({"THOUGHT": SECRET}, {"note": json.dumps({"Thought": SECRET})}):
        said = insert(sink, table, metadata=metadata)
        assert said is not None
        assert SECRET not in said


@pytest.mark.parametrize(
    "metadata",
    [
        pytest.param({"prompt_tokens": "12", "prompts": "2"}, id="names that only begin so"),
        pytest.param({"note": '{"shape": {"kind": "text"}}'}, id="a blocked word as a value"),
        pytest.param({"note": "the text: {x}"}, id="a brace in a sentence"),
        pytest.param({"note": '["prompt"]'}, id="a blocked word in a list"),
    ],
)
def test_what_is_no_blocked_key_lands(sink: Client, metadata: dict[str, str]) -> None:
    """A guard that refuses too much would lose records."""
    assert insert(sink, "agent_decisions", metadata=metadata) is None


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_content_over_64_kb_is_refused_in_every_column_that_holds_text(sink: Client, table: Table) -> None:
    """At the limit it lands, one byte more is refused, and the refusal does not quote it."""
    large = SECRET + "x" * (MAX_CONTENT_BYTES + 1 - len(SECRET))
    row = sample_row(table.name, 0)
    places = [place for column in table.columns for place in _texts(row[column.name], (column.name,))]
    limited = {("agent_decisions", name) for name in ("decision_type", "reason_code", "selected")}
    limited |= {("agent_quality_signals", name) for name in ("signal_type", "signal_code")}
    assert places
    for place in places:
        if (table.name, place[0]) in UNCOUNTED:
            continue
        said = insert(sink, table.name, **{place[0]: _with(row[place[0]], place[1:], large)})
        assert said is not None, place
        assert "content_is_at_most_64_kb" in said or (table.name, place[0]) in limited, place
        assert SECRET not in said
    largest = next(place for place in places if (table.name, place[0]) not in UNCOUNTED | limited)
    assert insert(sink, table.name, **{largest[0]: _with(row[largest[0]], largest[1:], large[:-1])}) is None


def _texts(value: Any, path: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    """Places of texts in a row's value; of a list, the last element stands for all."""
    if isinstance(value, str):
        yield path
    elif isinstance(value, list):
        yield from _texts(value[-1], (*path, len(value) - 1))
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _texts(item, (*path, key))


def _with(value: Any, path: tuple[Any, ...], text: str) -> Any:
    if not path:
        return text
    head, rest = path[0], path[1:]
    if isinstance(value, list):
        return [_with(item, rest, text) if place == head else item for place, item in enumerate(value)]
    return value | {head: _with(value[head], rest, text)}


GIVEN = "INSERT INTO tachograph.agent_decisions (tenant_id, selected, metadata, metadata_keys, has_blocked_key) "
FREELY = "SETTINGS insert_allow_materialized_columns = 1 "
BLOCKED_ROW = "SELECT 'guarded', 'other', map('prompt', 'x'), [], false"


@pytest.mark.parametrize(
    ("statement", "code"),
    [
        pytest.param(GIVEN + BLOCKED_ROW, 44, id="as it is"),
        pytest.param(GIVEN + FREELY + BLOCKED_ROW, 452, id="with the setting that allows it"),
        pytest.param("SET insert_allow_materialized_columns = 1", 452, id="the setting by itself"),
    ],
)
def test_the_writer_cannot_give_what_guards_read(stack: Settings, statement: str, code: int) -> None:
    """A writer that says itself whether its row is blocked, or how large it is, would be asked by no guard."""
    house = stack.clickhouse
    sink = login(stack, house.sink_user, house.sink_password.get_secret_value())
    with pytest.raises(Refused) as refused:
        sink(statement)
    assert refused.value.code == code


@pytest.mark.parametrize(
    ("table", "changes"),
    [
        pytest.param("agent_decisions", {"decision_type": SECRET + "x" * 79}, id="a decision type of 101 characters"),
        pytest.param("agent_decisions", {"reason_code": SECRET + "ß" * 79}, id="a reason code of 101 characters"),
        pytest.param("agent_decisions", {"selected": SECRET + "x" * 179}, id="a choice of 201 characters"),
        pytest.param("agent_decisions", {"selected": ""}, id="no choice"),
        pytest.param("agent_decisions", {"confidence": 1.01}, id="a confidence above 1"),
        pytest.param("agent_decisions", {"confidence": -0.01}, id="a confidence below 0"),
        pytest.param("agent_decisions", {"confidence": float("nan")}, id="a confidence that is no number"),
        pytest.param("agent_quality_signals", {"signal_type": SECRET + "x" * 79}, id="a signal type of 101 characters"),
        pytest.param("agent_quality_signals", {"signal_code": SECRET + "x" * 79}, id="a signal code of 101 characters"),
        pytest.param("agent_quality_signals", {"weight": 1.01}, id="a weight above 1"),
    ],
)
def test_limits_of_decisions_and_signals(sink: Client, table: str, changes: dict[str, Any]) -> None:
    """Counted in characters, not bytes; and the refusal does not quote them."""
    said = insert(sink, table, **changes)
    assert said is not None
    assert SECRET not in said


def test_what_is_at_the_limit_lands(sink: Client) -> None:
    """A hundred characters, two hundred characters, 0 and 1, and none at all."""
    longest = {"decision_type": "ß" * 100, "reason_code": "x" * 100, "selected": "ß" * 200}
    assert insert(sink, "agent_decisions", **longest, confidence=1.0) is None
    assert insert(sink, "agent_decisions", **longest, confidence=None) is None
    assert insert(sink, "agent_quality_signals", signal_type="x" * 100, signal_code="ß" * 100, weight=0.0) is None


def test_guards_read_nothing_that_may_not_be_printed(stack: Settings) -> None:
    """A failed check prints the columns it read: sizes, flags, shares and coordinates, never text."""
    house = stack.clickhouse
    migrate = login(stack, house.migrate_user, house.migrate_password.get_secret_value())
    harmless = {"content_bytes", "has_blocked_key", "code_characters", "selected_characters", "confidence", "weight"}
    for table in TABLES:
        created = migrate(f"SHOW CREATE TABLE tachograph.{table.name} FORMAT TSVRaw")
        checks = re.findall(r"CONSTRAINT \w+ CHECK (.*?)(?:,\n|\n\))", created, re.DOTALL)
        read = {word for check in checks for word in re.findall(r"[a-z_]+", check)} & {
            column.name for column in (*table.columns,)
        } | {word for check in checks for word in re.findall(r"\b(?:metadata\w*|\w*_bytes|has_\w+)\b", check)}
        assert read <= harmless, (table.name, checks)
        blocked = re.findall(r"hasAny\(metadata_keys, \[(.*?)\]\)", created)
        assert len(blocked) == (table.name in WITH_METADATA)
        for found in blocked:
            assert {blocked_name(key) for key in re.findall(r"'(\w+)'", found)} == BLOCKED_METADATA_KEYS
        sizes = set(re.findall(r"content_bytes <= (\d+)", created))
        assert sizes == {str(MAX_CONTENT_BYTES)}, table.name


@pytest.mark.parametrize(
    ("table", "poison"),
    [
        pytest.param("agent_decisions", {"metadata": {"note": json.dumps({"prompt": SECRET})}}, id="a nested key"),
        pytest.param("context_items", {"reason": SECRET + "x" * MAX_CONTENT_BYTES}, id="content over 64 KB"),
        pytest.param("agent_decisions", {"confidence": 2.0}, id="a confidence that is none"),
    ],
)
def test_one_bad_row_becomes_a_dead_letter_and_its_batch_lands(
    whole_place: Place, table: str, poison: dict[str, Any]
) -> None:
    """On the real stack: the rest is there, the letter has the original bytes, and nothing quotes the row."""
    place = whole_place
    bad = encoded(table, sample_row(table, 4, tenant_id=place.tenant, **poison))
    place.send(table, range(4))
    place.send_raw(table, 4, bad)
    place.send(table, range(5, 8))
    with running_sink(place.settings, place.topics):
        eventually(lambda: place.count(table) == 7, "the rest of the batch")
        eventually(lambda: place.count("dead_letters") == 1, "the dead letter's row")
    (letter,) = place.dead_letters(1)
    headers = dict(letter.headers() or [])
    assert letter.value() == bad
    assert headers[Header.ERROR_STAGE] == b"INSERT"
    assert SECRET not in str(headers)
    assert SECRET not in str(place.query("SELECT * FROM tachograph.dead_letters WHERE tenant_id = {tenant:String}"))


@pytest.mark.parametrize(
    ("table", "where", "index"),
    [
        pytest.param("agent_decisions", "run_id = 'r'", "run_id_bloom", id="decisions by run"),
        pytest.param("agent_decisions", "step_id = 's'", "step_id_bloom", id="decisions by step"),
        pytest.param("agent_decisions", "decision_type = 'd'", "decision_type_set", id="decisions by type"),
        pytest.param("agent_decisions", "reason_code = 'c'", "reason_code_set", id="decisions by reason"),
        pytest.param("agent_quality_signals", "run_id = 'r'", "run_id_bloom", id="signals by run"),
        pytest.param("agent_quality_signals", "step_id = 's'", "step_id_bloom", id="signals by step"),
        pytest.param("agent_quality_signals", "signal_type = 't'", "signal_type_set", id="signals by type"),
        pytest.param("agent_quality_signals", "signal_code = 'c'", "signal_code_set", id="signals by code"),
        pytest.param("decision_records", "decision_key = 'k'", "decision_key_bloom", id="records by key"),
        pytest.param("decision_records", "has(subject_ids, 's')", "subject_ids_bloom", id="records by subject"),
        pytest.param("decision_records", "status = 'REJECTED'", "status_set", id="records by status"),
        pytest.param("decision_records", "has(approvers, 'a')", "approvers_bloom", id="records by approver"),
        pytest.param("decision_records", "has(approval_modes, 'm')", "approval_modes_bloom", id="records by mode"),
        pytest.param(
            "decision_records", "has(policy_decision_ids, 'p')", "policy_decision_ids_bloom", id="records by policy"
        ),
        pytest.param("decision_records", "trace_id = 't'", "trace_id_bloom", id="records by trace"),
    ],
)
def test_what_is_looked_for_has_an_index_that_is_used(
    sink: Client, stack: Settings, table: str, where: str, index: str
) -> None:
    """As ClickHouse itself plans the query."""
    assert insert(sink, table) is None  # an index needs a part to be asked for
    house = stack.clickhouse
    console = login(stack, house.console_user, house.console_password.get_secret_value())
    plan = console(f"EXPLAIN indexes = 1 SELECT count() FROM tachograph.{table} WHERE {where}")  # noqa: S608 - our names
    assert index in plan


def test_decisions_and_signals_have_the_names_of_the_requirements(sink: Client, stack: Settings) -> None:
    """recorded_at and created_at, whoever asks by these names."""
    house = stack.clickhouse
    console = login(stack, house.console_user, house.console_password.get_secret_value())
    for table in ("agent_decisions", "agent_quality_signals"):
        assert insert(sink, table) is None
        odd = console(
            f"SELECT count(), countIf(recorded_at != occurred_at OR created_at != _ingested_at) FROM tachograph.{table}"  # noqa: S608 - our names
        )
        assert odd.endswith("\t0")
