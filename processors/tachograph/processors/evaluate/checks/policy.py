"""What needs permission: tools by environment, deployments, merges."""

from typing import Final

from tachograph.processors.evaluate.globs import name_matcher
from tachograph.processors.evaluate.registry import CheckFunction, Parameter, named
from tachograph.processors.evaluate.results import PASSED, Outcome, failed, unknown
from tachograph.processors.evaluate.subject import Subject

_TOOLS: Final = Parameter("tools", "texts")
_ENVIRONMENTS: Final = Parameter(
    "environments", "texts", required=False, choices=("local", "ci", "staging", "prod", "unknown")
)
_NO_ENVIRONMENT: Final = unknown("the event names no environment, so rules by environment cannot be judged")


@named("tools_allowed", "policy", "error", _TOOLS, _ENVIRONMENTS)
def tools_allowed(tools: tuple[str, ...], environments: tuple[str, ...] = ()) -> CheckFunction:
    """Only tools that match these globs are called (in these environments, if any are named)."""
    return _tools(tools, environments, wanted=True)


@named("tools_forbidden", "policy", "error", _TOOLS, _ENVIRONMENTS)
def tools_forbidden(tools: tuple[str, ...], environments: tuple[str, ...] = ()) -> CheckFunction:
    """No tool that matches these globs is called (in these environments, if any are named)."""
    return _tools(tools, environments, wanted=False)


def _tools(tools: tuple[str, ...], environments: tuple[str, ...], *, wanted: bool) -> CheckFunction:
    matches = name_matcher(tools)
    where = frozenset(environments)

    def check(subject: Subject) -> Outcome | None:
        if not subject.tool_calls and not subject.event["agent_action"]["tool_results"]:
            return None
        if where:
            if subject.environment in ("", "unknown") and "unknown" not in where:
                return _NO_ENVIRONMENT
            if subject.environment not in where:
                return None
        for place, call in enumerate(subject.tool_calls):
            if matches(call["name"]) is not wanted:
                return failed(
                    "a tool was called that is not allowed here",
                    f"model_output.tool_calls[{place}].name",
                    call["tool_call_id"],
                )
        for place, result in enumerate(subject.event["agent_action"]["tool_results"]):
            if matches(result["name"]) is not wanted:
                return failed(
                    "a tool ran that is not allowed here",
                    f"agent_action.tool_results[{place}].name",
                    result["tool_call_id"],
                )
        return PASSED

    return check


@named("deploy_needs_approval", "policy", "critical", _ENVIRONMENTS, Parameter("after_edits", "flag", required=False))
def deploy_needs_approval(environments: tuple[str, ...] = (), *, after_edits: bool = True) -> CheckFunction:
    """A human agreed before the deployment, and after the last edit unless told otherwise."""
    where = frozenset(environments)

    def check(subject: Subject) -> Outcome | None:
        if not subject.deploys:
            return unknown("a command is not stored as text, so it may deploy") if _may(subject) else None
        if where:
            if subject.environment in ("", "unknown") and "unknown" not in where:
                return _NO_ENVIRONMENT
            if subject.environment not in where:
                return None
        facts = subject.facts
        if not facts.approvals:
            return failed("deployed without a human's approval; record one with run.override first", "run so far")
        if after_edits and not facts.approved:
            return failed("files were edited after the approval; ask again before deploying", "run so far")
        return PASSED

    return check


@named("no_merge_without_tests", "policy", "error")
def no_merge_without_tests() -> CheckFunction:
    """Tests ran after the last edit and passed before the merge."""

    def check(subject: Subject) -> Outcome | None:
        if not subject.merges:
            return unknown("a command is not stored as text, so it may merge") if _may(subject) else None
        facts = subject.facts
        if not facts.tests_ran:
            return failed("merged without running the tests", "run so far")
        if facts.edited:
            return failed("merged with edits that no test run has seen", "run so far")
        if facts.tests_passed is None:
            return unknown("the last test run does not say how it ended; record its exit code")
        return PASSED if facts.tests_passed else failed("merged although the tests failed", "run so far")

    return check


def _may(subject: Subject) -> bool:
    """Whether there is a command here that nobody can read."""
    return subject.commands_hidden  # known, because `deploys` or `merges` asked for the commands
