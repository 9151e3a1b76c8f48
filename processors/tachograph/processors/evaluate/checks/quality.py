"""How the work was done: tests after edits, tests that pass, exit codes, retries, retrieval that found nothing."""

from typing import Final

from tachograph.processors.evaluate.registry import CheckFunction, Parameter, named
from tachograph.processors.evaluate.results import PASSED, Outcome, failed, unknown
from tachograph.processors.evaluate.subject import HASHED, Subject

_HANDS_OVER: Final = frozenset({"open_pr", "merge", "deploy"})
"""Actions after which other people have the work."""


@named("tests_after_edits", "quality", "warn")
def tests_after_edits() -> CheckFunction:
    """Tests ran after the last edit before work is handed over in a pull request, merge or deployment."""

    def check(subject: Subject) -> Outcome | None:
        if subject.action_type not in _HANDS_OVER and not subject.merges and not subject.deploys:
            return None
        if subject.facts.edited:
            return failed("files were edited after the last test run; run the tests first", "run so far")
        return PASSED if subject.facts.tests_ran else unknown("no edit and no test run was recorded in this run")

    return check


@named("tests_passed", "quality", "error")
def tests_passed() -> CheckFunction:
    """Every test run of the event ended with exit code 0."""

    def check(subject: Subject) -> Outcome | None:
        answer: Outcome | None = None
        for place, artifact in enumerate(subject.artifacts):
            if artifact["type"] == "test_run":
                code = artifact["metadata"]["exit_code"]
                if code is None:
                    answer = unknown("a test run does not say how it ended; record its exit code")
                elif code != 0:
                    return failed(
                        f"tests failed with exit code {code}", f"agent_action.artifacts[{place}].metadata.exit_code"
                    )
                elif answer is None:
                    answer = PASSED
        if answer is None and subject.action_type == "run_tests":
            return unknown("a test run left no artifact; record it with its exit code")
        return answer

    return check


@named("exit_codes", "quality", "warn", Parameter("allowed", "counts", required=False))
def exit_codes(allowed: tuple[int, ...] = (0,)) -> CheckFunction:
    """Commands ended with one of these exit codes."""
    good = frozenset(allowed)

    def check(subject: Subject) -> Outcome | None:
        answer: Outcome | None = None
        for place, artifact in enumerate(subject.artifacts):
            if artifact["type"] == "command":
                code = artifact["metadata"]["exit_code"]
                if code is None:
                    answer = unknown("a command does not say how it ended; record its exit code")
                elif code not in good:
                    return failed(
                        f"a command ended with exit code {code}",
                        f"agent_action.artifacts[{place}].metadata.exit_code",
                    )
                elif answer is None:
                    answer = PASSED
        return answer

    return check


@named("max_retries", "quality", "warn", Parameter("retries", "count"))
def max_retries(retries: int) -> CheckFunction:
    """No tool failed more than this many times in a row."""

    def check(subject: Subject) -> Outcome | None:
        for name, count in subject.facts.failures.items():
            if count > retries:
                tool = _place(subject, name)
                return failed(f"a tool failed {count} times in a row, more than {retries}", tool)
        return PASSED if subject.tool_calls or subject.event["agent_action"]["tool_results"] else None

    return check


@named("no_empty_retrieval", "quality", "warn")
def no_empty_retrieval() -> CheckFunction:
    """Retrieval, where it was on, found something."""

    def check(subject: Subject) -> Outcome | None:
        provenance = subject.event["prompt_provenance"]
        bundle = None if provenance is None else provenance["prompt_bundle"]
        retrieval = None if bundle is None else bundle["retrieval"]
        if retrieval is None or not retrieval["enabled"]:
            return None
        if retrieval["sources"]:
            return PASSED
        snippets = retrieval["snippets"]
        if snippets is not None and (subject.hashed or snippets.startswith(HASHED)):
            return unknown("the retrieved text is hashed, and its sources are not named")
        if snippets is None or not snippets.strip():
            return failed("retrieval was on and found nothing", "prompt_provenance.prompt_bundle.retrieval")
        return PASSED

    return check


def _place(subject: Subject, name: str) -> str:
    """Where the event names the tool, else the run."""
    for place, call in enumerate(subject.tool_calls):
        if call["name"] == name:
            return f"model_output.tool_calls[{place}].name"
    return "run so far"
