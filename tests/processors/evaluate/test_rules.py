"""Constraints and CEL: what can be compiled is judged, what cannot is unknown with a reason, and cost is bounded."""

import pytest

from tachograph.processors.evaluate.cel import expression
from tachograph.processors.evaluate.globs import name_matcher, path_matcher
from tachograph.processors.evaluate.registry import ArgumentError
from tachograph.processors.evaluate.subject import normal
from tests.processors.evaluate.events import HMAC, call, edit, evaluate, event, judged


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        pytest.param("cel: action.type == 'edit'", "pass", id="true"),
        pytest.param("cel: files.all(f, f.startsWith('src/'))", "pass", id="over a list"),
        pytest.param("cel: run.lines_changed < 1", "fail", id="false"),
        pytest.param("cel: run.nothing == 1", "unknown", id="a member that is not there"),
        pytest.param("cel: 1 / 0 == 1", "unknown", id="an error"),
        pytest.param("cel: nope", "unknown", id="an unknown name"),
        pytest.param("cel: size(files)", "unknown", id="not true or false"),
        pytest.param("cel: output.text", "unknown", id="a text where true or false belongs"),
        pytest.param("cel: 1 +", "unknown", id="bad syntax"),
        pytest.param("cel:", "unknown", id="empty"),
        pytest.param("Please be careful with the database", "unknown", id="a sentence"),
        pytest.param("no_such_check(1)", "unknown", id="a name nobody has"),
        pytest.param("max_length", "unknown", id="a missing argument"),
        pytest.param("max_length(many)", "unknown", id="an argument of the wrong kind"),
        pytest.param("max_length(5, 6)", "unknown", id="too many arguments"),
        pytest.param("paths_within('src/**", "unknown", id="an open quote"),
        pytest.param("json_schema({broken)", "unknown", id="a schema that is not JSON"),
        pytest.param('json_schema({"type": "nothing"})', "unknown", id="a schema that is none"),
        pytest.param('json_schema({"$ref": "http://127.0.0.1:9/x"})', "unknown", id="a schema elsewhere"),
        pytest.param("paths_within('src/**', \"lib/**\")", "pass", id="quoted arguments"),
        pytest.param('paths_within(["src/**"])', "pass", id="a list"),
        pytest.param("paths_within(globs=src/**)", "pass", id="a named argument"),
    ],
)
def test_a_rule_is_judged_or_unknown(rule: str, expected: str) -> None:
    """Nothing that cannot be judged passes."""
    assert judged(rule, event("edit", artifacts=[edit()])) == expected


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        pytest.param("a" * 2000, "characters", id="too long"),
        pytest.param("(" * 100 + "true" + ")" * 100, "not a CEL", id="nested too deep"),
        pytest.param("[1].map(x, x + x) == [2]", "not a CEL", id="a macro that multiplies"),
        pytest.param("[1].all(a, [1].all(b, [1].all(c, true)))", "cost", id="three comprehensions"),
        pytest.param("files.all(a, files.all(b, b.matches(a)))", "cost", id="matches in two comprehensions"),
    ],
)
def test_an_expression_that_may_cost_too_much_is_refused(text: str, reason: str) -> None:
    """Cost is bounded before the first event."""
    with pytest.raises(ArgumentError, match=reason):
        expression(text)


def test_iterations_are_bounded() -> None:
    """An expression that counts too far is given up."""
    numbers = "[" + ",".join("1" * 200) + "]"
    assert judged(f"cel: {numbers}.all(a, {numbers}.all(b, a == b))", event()) == "unknown"


def test_an_expression_over_hidden_content_is_unknown() -> None:
    """Numbers and names can be judged in hashed mode, texts cannot."""
    hashed = event("edit", mode="hashed", output=HMAC, artifacts=[edit()])
    assert judged("cel: output.length < 100", hashed) == "unknown"
    assert judged("cel: action['summary'] != ''", hashed) == "unknown"
    assert judged("cel: run.files_changed < 100", hashed) == "pass"


def test_an_event_too_large_for_an_expression_is_unknown() -> None:
    """Nothing is judged by its beginning only."""
    assert judged("cel: output.length > 0", event(output="a" * 10_000)) == "unknown"
    assert judged("cel: size(tools) > 0", event(calls=[call("t")] * 65)) == "unknown"


def test_the_message_of_an_unknown_rule_says_why() -> None:
    """Whoever wrote the rule learns what to write, and captured content stays out of it."""
    (check,) = evaluate(event(constraints=["max_length(many)"])).alignment.checks
    assert check.message == "max_length: characters is a whole number from 0"
    assert check.constraint_id == "c0"


@pytest.mark.parametrize(
    ("glob", "path", "expected"),
    [
        ("src/**", "src/a/b.py", True),
        ("src/**", "src", False),
        ("src/", "src/a", True),
        ("src/*", "src/a/b", False),
        ("**/x.py", "x.py", True),
        ("**/x.py", "a/b/x.py", True),
        ("*.py", "a.py", True),
        ("*.py", "a/a.py", False),
        ("./src/**", "src/a", True),
        ("**", "../a", False),
        ("**", "/a", False),
        ("a?c", "abc", True),
        ("a.c", "abc", False),
    ],
)
def test_globs(glob: str, path: str, expected: bool) -> None:
    """A star stays within its folder, two do not, and nothing reaches out of the workspace."""
    assert path_matcher([glob])(path) is expected


def test_names_match_by_stars_only() -> None:
    """Dots and brackets of a name mean themselves."""
    assert [name_matcher(["*.example.com"])(host) for host in ("a.example.com", "aXexample.com")] == [True, False]


@pytest.mark.parametrize(
    ("path", "expected"),
    [("./a", "a"), ("a//b", "a/b"), ("a/./b", "a/b"), ("a/../b", "b"), ("../a", "../a"), ("a/../../b", "../b"),
     ("a\\b", "a/b"), ("/etc/../a", "/a"), ("a/..", "")],
)  # fmt: skip
def test_paths_are_judged_in_normal_form(path: str, expected: str) -> None:
    """A detour does not hide where a path leads."""
    assert normal(path) == expected
