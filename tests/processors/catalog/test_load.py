"""The catalog's loader: what it accepts, and where it says a problem is."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tachograph.processors.catalog import CatalogError, check_catalog, load_catalog
from tachograph.processors.catalog.load import LOCK_FILE

EXAMPLE = Path(__file__).parents[3] / "catalog" / "decisions"

SPEC = """\
kind: decision_spec
key: a.b
version: 1.0.0
allowed_outcomes: [yes_, no_]
output_schema:
  type: object
  required: [outcome]
  properties: {outcome: {enum: [yes_, no_]}}
approval: {mode: none}
"""

Write = Callable[[str], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(text: str) -> Path:
        (tmp_path / "a.yaml").write_text(text, encoding="utf-8")
        return tmp_path

    return write


def test_the_example_catalog_is_sound() -> None:
    """The refund of the requirements and three decisions of a coding agent load without a problem."""
    catalog = load_catalog(EXAMPLE)
    for key in (
        "support.refund.execute",
        "coding.pull_request.merge",
        "coding.deployment.release",
        "coding.data.delete",
    ):
        assert catalog.spec(key, "1.0.0") is not None
    assert catalog.keys("sealing") is not None
    assert {pinned.document.kind for pinned in catalog.documents} == {
        "decision_spec",
        "policy_bundle",
        "context_pack",
        "model_profile",
        "evaluator_suite",
        "key_set",
    }


@pytest.mark.parametrize(
    ("old", "new", "place", "words"),
    [
        pytest.param("kind: decision_spec", "kind: spec", (1, 7), "'kind' must be one of", id="unknown kind"),
        pytest.param("version: 1.0.0", "version: 1.0", (3, 10), "point", id="a version that YAML takes for a number"),
        pytest.param("version: 1.0.0", "version: one", (3, 10), "version", id="a version that is none"),
        pytest.param("key: a.b\n", "", (1, 1), "key: Field required", id="a field is missing"),
        pytest.param("key: a.b", "key: a.b\nsize: 3", (3, 7), "size: there is no such field", id="an unknown field"),
        pytest.param("key: a.b", "key: a.b\nkey: c", (3, 1), "stands here twice", id="a key twice"),
        pytest.param("[yes_, no_]", "[]", (4, 19), "at least 1 item", id="no outcome"),
        pytest.param("[yes_, no_]", "[yes, no]", (4, 20), "valid string", id="YAML's yes is a truth value"),
        pytest.param("type: object", "type: thing", (5, 1), "JSON Schema", id="not a JSON Schema"),
        pytest.param("type: object", '$ref: "https://elsewhere.example/x"', (5, 1), "leads out", id="a foreign $ref"),
        pytest.param("{enum: [yes_, no_]}", "{enum: [yes_]}", (8, 32), "allowed outcomes", id="another outcome"),
        pytest.param("required: [outcome]", "required: [x]", (5, 1), "must require", id="the outcome is optional"),
        pytest.param("mode: none", "mode: some", (9, 18), "approval.mode", id="an unknown mode"),
        pytest.param("mode: none", "mode: destructive", (9, 11), "needs a gate", id="a gate without a name"),
        pytest.param("mode: none", "mode: *m", (9, 18), "not YAML", id="an alias that leads nowhere"),
        pytest.param("key: a.b", "key: [", (4, 17), "not YAML", id="syntax"),
        pytest.param("key: a.b", "key: !!binary aGk=", (2, 6), "only texts", id="a tag"),
        pytest.param("key: a.b", "key: a.b\n1: 2", (3, 1), "a key must be text", id="a number as key"),
        pytest.param(
            "key: a.b", "key: a.b\npolicies: [P]", (3, 12), "no policy bundle P", id="a bundle that is not there"
        ),
    ],
)
def test_a_problem_has_its_line(write: Write, old: str, new: str, place: tuple[int, int], words: str) -> None:
    """Each mistake is named at the line and column where it stands."""
    assert old in SPEC
    _, problems = check_catalog(write(SPEC.replace(old, new)))
    assert any((problem.line, problem.column) == place and words in problem.message for problem in problems), problems


def test_all_problems_come_at_once(write: Write) -> None:
    """A person mends a catalog in one go."""
    folder = write(SPEC.replace("a.b", "''") + "---\n" + SPEC.replace("mode: none", "mode: x") + "---\nkind: nothing\n")
    with pytest.raises(CatalogError) as caught:
        load_catalog(folder)
    assert [problem.line for problem in caught.value.problems] == [2, 19, 21]


def test_a_mistake_is_told_once(write: Write) -> None:
    """What refers to a document with a mistake is not wrong for that, nor is its lock."""
    pack = "---\nkind: context_pack\nid: p\nversion: 1.0.0\ndecisions: [a.b, c.d]\n"
    folder = write(SPEC)
    (folder / LOCK_FILE).write_text(load_catalog(folder).lock(), encoding="utf-8")
    _, problems = check_catalog(write(SPEC.replace("mode: none", "mode: some") + pack))
    assert [problem.message.partition(":")[0] for problem in problems] == [
        "approval.mode",
        "there is no decision spec c.d",
    ]


def test_one_name_and_version_twice(write: Write) -> None:
    """Two documents cannot be one version; the second is named, and says where the first is."""
    _, problems = check_catalog(write(SPEC + "---\n" + SPEC))
    assert [str(problem) for problem in problems] == ["a.yaml:11:1: a.b@1.0.0 is already in a.yaml:1"]


def test_the_hash_is_of_what_is_said(write: Write) -> None:
    """Comments and order leave the hash alone; any value changes it."""
    (first,) = load_catalog(write(SPEC)).documents
    (commented,) = load_catalog(
        write("# why\n" + SPEC.replace("key: a.b\nversion: 1.0.0", "version: 1.0.0\nkey: a.b"))
    ).documents
    (changed,) = load_catalog(write(SPEC.replace("mode: none", "mode: read_only"))).documents
    assert first.hash == commented.hash != changed.hash


def test_a_published_version_is_not_changed(write: Write) -> None:
    """Once locked, other content needs the next version, and no version may go."""
    folder = write(SPEC)
    (folder / LOCK_FILE).write_text(load_catalog(folder).lock(), encoding="utf-8")
    assert load_catalog(folder)
    _, problems = check_catalog(write(SPEC.replace("mode: none", "mode: read_only")))
    assert [problem.message for problem in problems] == [
        "a.b@1.0.0 was published with other content: give it the next version"
    ]
    _, problems = check_catalog(write(SPEC.replace("1.0.0", "1.0.1")))
    assert "is gone" in problems[0].message
    assert load_catalog(write(SPEC + "---\n" + SPEC.replace("1.0.0", "1.0.1").replace("none", "read_only")))


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"\xff\xfe", id="not UTF-8"),
        pytest.param(b"a: \x07", id="a control character"),
        pytest.param(b"# x" * 400_000, id="too large"),
    ],
)
def test_bytes_that_are_no_catalog(tmp_path: Path, content: bytes) -> None:
    """Files that no reader can use are problems, not tracebacks."""
    (tmp_path / "a.yaml").write_bytes(content)
    assert check_catalog(tmp_path)[1]


def test_an_empty_or_missing_folder(tmp_path: Path) -> None:
    """Nothing to check is a problem, too: it is a wrong path."""
    assert check_catalog(tmp_path)[1]
    assert check_catalog(tmp_path / "none")[1]


def test_windows_of_a_bundle(write: Write) -> None:
    """A bundle that ends before it begins is refused."""
    text = (
        "kind: policy_bundle\nid: P\nversion: 1.0.0\nactive_from: 2026-02-01T00:00:00Z\n"
        "active_until: 2026-01-01T00:00:00Z\nrules: [{id: R, verdicts: [allow]}]\n"
    )
    assert "must be after" in check_catalog(write(text))[1][0].message
    assert load_catalog(write(text.replace("2026-01", "2026-03")))
