"""Time of one evaluation with every built-in check on: ``python -m benchmarks.evaluate``. Needs no server."""

import shutil
import time
from pathlib import Path

from tests.schemas import samples

from benchmarks.report import Figure
from benchmarks.workload import PROSE
from tachograph.processors.evaluate import Evaluator, RulePacks, RunFacts
from tachograph.processors.evaluate.catalog import default_folder
from tachograph.processors.evaluate.packs import read_pack
from tachograph.schemas.wire import Codec, to_avro

EVENTS = 5000
GOAL_US = 60
EVERY_CHECK = """
pack: every-check
version: 1.0.0
rules:
- {id: valid_json, check: valid_json}
- {id: json_schema, check: json_schema, with: {schema: {type: object}}}
- {id: no_emojis, check: no_emojis}
- {id: max_length, check: max_length, with: {characters: 9000}}
- {id: code_fences, check: code_fences, with: {languages: [python]}}
- {id: paths_within, check: paths_within, with: {globs: ["src/**"]}}
- {id: paths_outside, check: paths_outside, with: {globs: ["lib/**"]}}
- {id: branch, check: branch, with: {globs: ["*"]}}
- {id: repo, check: repo, with: {globs: ["acme/*"]}}
- {id: network_hosts, check: network_hosts, with: {hosts: ["*.example.com"]}}
- {id: tools_allowed, check: tools_allowed, with: {tools: ["*"]}}
"""


def every_check(folder: Path) -> Path:
    """A folder of rules with every built-in check in it: those that ship, and a pack of the rest."""
    shutil.copytree(default_folder(), folder)
    (folder / "every-check.yaml").write_text(EVERY_CHECK, encoding="utf-8")
    return folder


def measure() -> list[Figure]:
    """The shipped rules and every check that they leave out, on an event of about 2 KB."""
    record = to_avro(samples.DECISION_EVENT)
    record["prompt_provenance"]["prompt_bundle"]["messages"][2]["content"] = PROSE * 8
    record["model_output"]["output_raw"] = PROSE * 3
    codec = Codec()
    event = codec.decode(codec.encode("DecisionEvent", record)).record
    rest, problems = read_pack(EVERY_CHECK, "every-check.yaml")
    if rest is None:
        raise RuntimeError(str(problems))
    evaluator, facts = Evaluator(RulePacks([*RulePacks.load().packs, rest])), RunFacts()
    best = float("inf")
    for _ in range(5):
        start = time.perf_counter()
        for _ in range(EVENTS):
            evaluator.evaluate(facts, event)
        best = min(best, (time.perf_counter() - start) / EVENTS * 1e6)
    return [Figure("evaluate with every check", best, GOAL_US, "us/event", at_most=True)]


if __name__ == "__main__":
    for figure in measure():
        print(figure)
