"""Rule packs: every mistake is told with file and line, and a bad reload changes nothing."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tachograph.console.cli.app import app
from tachograph.processors.evaluate import Evaluator, RulePackError, RulePacks, RunFacts
from tachograph.processors.evaluate.catalog import default_folder
from tachograph.processors.evaluate.packs import read_pack
from tests.processors.evaluate.events import event

HEAD = "pack: mine\nversion: 1.0.0\nrules:\n"
GOOD = HEAD + "- id: no_emojis\n  check: no_emojis\n"


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        pytest.param("", 1, "map with 'pack'", id="empty file"),
        pytest.param("a: [1\nb: 2\n", 2, "not YAML", id="bad syntax"),
        pytest.param("- 1\n", 1, "map with 'pack'", id="not a map"),
        pytest.param("pack: a\npack: b\n", 2, "twice", id="a key twice"),
        pytest.param(GOOD + "---\n" + GOOD, 7, "holds one rule pack", id="two packs in a file"),
        pytest.param("version: 1.0.0\nrules: [{id: a, check: no_emojis}]\n", 1, "'pack' is missing", id="no name"),
        pytest.param("pack: A B\nversion: 1.0.0\nrules: []\n", 1, "'pack' is small letters", id="bad name"),
        pytest.param("pack: a\nversion: 1\nrules: []\n", 2, "'version' is three numbers", id="bad version"),
        pytest.param("pack: a\nversion: 1.0.0\n", 1, "'rules' is missing", id="no rules"),
        pytest.param("pack: a\nversion: 1.0.0\nrules: []\n", 3, "at least one rule", id="empty rules"),
        pytest.param(GOOD + "extra: 1\n", 6, "has no 'extra'", id="unknown key of the pack"),
        pytest.param(HEAD + "- 7\n", 4, "a rule is a map", id="a rule that is no map"),
        pytest.param(HEAD + "- check: no_emojis\n", 4, "'id' is missing", id="no id"),
        pytest.param(HEAD + "- id: A!\n  check: no_emojis\n", 4, "'id' is small letters", id="bad id"),
        pytest.param(GOOD + "- id: no_emojis\n  check: valid_json\n", 6, "used twice", id="an id twice"),
        pytest.param(HEAD + "- id: a\n", 4, "either 'check' or 'cel'", id="neither check nor cel"),
        pytest.param(HEAD + "- id: a\n  check: b\n  cel: 'true'\n", 4, "either 'check' or 'cel'", id="both"),
        pytest.param(HEAD + "- id: a\n  check: nope\n", 5, "no such check; there are branch", id="unknown check"),
        pytest.param(HEAD + "- id: a\n  check: no_emojis\n  sev: x\n", 6, "has no 'sev'", id="unknown key of a rule"),
        pytest.param(HEAD + "- id: a\n  check: no_emojis\n  severity: bad\n", 6, "one of info", id="bad severity"),
        pytest.param(HEAD + "- id: a\n  check: no_emojis\n  kind: slo\n", 6, "one of alignment", id="bad kind"),
        pytest.param(HEAD + "- id: a\n  check: no_emojis\n  message: ''\n", 6, "'message' is", id="empty message"),
        pytest.param(
            HEAD + "- id: a\n  check: no_emojis\n  learned_from: dr_1\n", 6, "list of ids", id="a record, not a list"
        ),
        pytest.param(
            HEAD + "- id: a\n  check: no_emojis\n  learned_from: [x, x]\n", 6, "each once", id="a record twice"
        ),
        pytest.param(HEAD + "- id: a\n  check: max_length\n", 5, "needs 'characters'", id="argument missing"),
        pytest.param(HEAD + "- id: a\n  check: max_length\n  with: 5\n", 6, "map of arguments", id="with is no map"),
        pytest.param(
            HEAD + "- id: a\n  check: max_length\n  with: {characters: few}\n", 6, "whole number", id="argument wrong"
        ),
        pytest.param(HEAD + "- id: a\n  check: max_length\n  with: {size: 1}\n", 6, "no argument", id="odd argument"),
        pytest.param(HEAD + "- id: a\n  cel: nope\n", 5, "not a CEL expression", id="bad expression"),
        pytest.param(HEAD + "- id: a\n  cel: 5\n", 5, "'cel' is a text", id="expression is no text"),
        pytest.param(HEAD + "- id: a\n  cel: 'true'\n  with: {a: 1}\n", 6, "belongs to 'check'", id="with for cel"),
        pytest.param(HEAD + "- id: a\n  check: no_emojis\n  when: x\n", 6, "'when' is a map", id="when is no map"),
        pytest.param(
            HEAD + "- id: a\n  check: no_emojis\n  when:\n    actions:\n    - fly\n", 8, "actions", id="odd"
        ),
        pytest.param(
            HEAD + "- id: a\n  check: no_emojis\n  when: {agents: [1]}\n", 6, "'agents' holds texts", id="bad agent"
        ),
        pytest.param(
            HEAD + "- id: a\n  check: no_emojis\n  when: {hours: 1}\n", 6, "has no 'hours'", id="unknown condition"
        ),
    ],
)  # fmt: skip
def test_a_mistake_is_told_with_its_line(text: str, line: int, words: str) -> None:
    """Each kind of mistake has a sentence and the line where it is."""
    pack, problems = read_pack(text, "p.yaml")
    assert pack is None
    found = [problem for problem in problems if words in problem.message]
    assert [(problem.file, problem.line) for problem in found] == [("p.yaml", line)], problems


def test_all_mistakes_are_told_at_once() -> None:
    """Nobody has to fix a pack one error at a time."""
    _, problems = read_pack(HEAD + "- id: A\n  check: nope\n- id: b\n  cel: 1\n", "p")
    assert [problem.line for problem in problems] == [4, 5, 7]


def test_conditions_choose_the_events(tmp_path: Path) -> None:
    """A rule applies where its environments, actions and agents say."""
    (tmp_path / "p.yaml").write_text(
        HEAD + "- {id: a, check: no_emojis, when: {environments: [prod], actions: [message], agents: ['cod*']}}\n"
    )
    evaluator = Evaluator(RulePacks.load(tmp_path))

    def asked(subject: dict[str, object]) -> bool:
        return bool(evaluator.evaluate(RunFacts(), subject).alignment.checks)

    assert asked(event(environment="prod"))
    assert not asked(event(environment="ci"))
    assert not asked(event("plan", environment="prod"))
    assert not asked(event(environment="prod", agent_id="other"))


def test_a_good_reload_is_in_force_and_a_bad_one_is_not(tmp_path: Path) -> None:
    """Rules change as a whole or not at all, and the evaluation says which were in force."""
    file = tmp_path / "p.yaml"
    file.write_text(GOOD)
    packs = RulePacks.load(tmp_path)
    evaluator = Evaluator(packs)
    assert evaluator.evaluate(RunFacts(), event()).packs == "mine@1.0.0"
    file.write_text(GOOD.replace("no_emojis\n", "nope\n"))
    assert [problem.line for problem in packs.reload()] == [5]
    assert evaluator.evaluate(RunFacts(), event()).alignment.status == "pass"
    file.write_text(GOOD.replace("1.0.0", "1.1.0").replace("check: no_emojis", "check: valid_json"))
    assert packs.reload() == []
    changed = evaluator.evaluate(RunFacts(), event())
    assert (changed.packs, changed.alignment.status) == ("mine@1.1.0", "fail")
    file.unlink()
    assert packs.reload()
    assert evaluator.evaluate(RunFacts(), event()) == changed


def test_two_packs_may_not_share_ids(tmp_path: Path) -> None:
    """A rule id means one rule, or nobody could tell which one was broken."""
    (tmp_path / "a.yaml").write_text(GOOD)
    (tmp_path / "b.yaml").write_text(GOOD.replace("mine", "yours"))
    with pytest.raises(RulePackError, match=r"b\.yaml:1:1: rule no_emojis is in .*a\.yaml too"):
        RulePacks.load(tmp_path)


def test_the_shipped_packs_are_the_trees_own() -> None:
    """The package finds the catalog, and every shipped pack can be used."""
    assert (default_folder() / "coding-agent.yaml").is_file()
    assert RulePacks.load().packs[0].name == "coding-agent"


def _rules(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tachograph.console.main", "rules", *arguments],
        check=False,
        capture_output=True,
        text=True,
        env=os.environ | {"COLUMNS": "200", "NO_COLOR": "1"},
    )


def test_the_command_checks_packs(tmp_path: Path) -> None:
    """Problems go to stdout with file and line and give exit code 1; good packs are listed."""
    good = _rules("check", "--json")
    assert good.returncode == 0
    assert json.loads(good.stdout)["problems"] == []
    bad = tmp_path / "bad.yaml"
    bad.write_text(HEAD + "- id: a\n  check: nope\n")
    answer = _rules("check", str(bad))
    assert answer.returncode == 1
    assert answer.stdout.startswith(f"{bad}:5:10: there is no such check")
    assert _rules("check", str(tmp_path / "gone.yaml")).returncode == 1


def test_the_command_lists_checks() -> None:
    """Whoever writes rules can see what there is."""
    listed = json.loads(_rules("list", "--json").stdout)
    assert {"no_secrets", "paths_within"} <= {row["check"] for row in listed}


def test_a_rule_says_which_records_taught_it(tmp_path: Path) -> None:
    """It links back to decisions, in the pack and in what `tachograph rules check` prints."""
    (tmp_path / "a.yaml").write_text(GOOD + "  learned_from: [dr_1, dr_2]\n")
    pack, problems = read_pack((tmp_path / "a.yaml").read_text(), "a.yaml")
    assert problems == []
    assert pack is not None
    assert [(rule.id, rule.learned_from) for rule in pack.rules] == [("no_emojis", ("dr_1", "dr_2"))]
    answer = CliRunner().invoke(app, ["rules", "check", str(tmp_path), "--json"])
    assert json.loads(answer.stdout)["packs"][0]["learned_from"] == {"no_emojis": ["dr_1", "dr_2"]}
    assert "dr_2" in CliRunner().invoke(app, ["rules", "check", str(tmp_path)]).stdout
