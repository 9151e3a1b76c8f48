"""The tools of the demo's agent: plain functions on the workspace. Each takes its time on the story's clock."""

from collections.abc import Callable
from dataclasses import asdict
from typing import Any, Final

from tachograph.console.demo.clock import StoryClock
from tachograph.console.demo.workspace import Workspace
from tachograph.producers import HookRegistry, current_run
from tachograph.producers.hooks.paths import PathScopeHook

SUITE_TIMEOUT_S: Final = 30


def _tool(name: str, description: str, *required: str) -> dict[str, Any]:
    return {"name": name, "description": description, "schema": {"type": "object", "required": list(required)}}


DESCRIBED: Final[list[dict[str, Any]]] = [
    _tool("read_file", "Read a file", "path"),
    _tool("edit_file", "Replace text in a file", "path", "old", "new"),
    _tool("search_code", "Search the code for a text", "pattern"),
    _tool("run_tests", "Run the unit tests"),
    _tool("run_suite", "Run the integration suite", "environment"),
    _tool("open_pull_request", "Commit, push and open a pull request", "title"),
    _tool("build", "Build a release", "version"),
    _tool("deploy", "Deploy the service", "target"),
]
"""What the model is told."""


def tools(workspace: Workspace, clock: StoryClock) -> dict[str, Callable[..., Any]]:
    """The functions by name."""

    def read_file(path: str) -> str:
        clock.pass_time(2)
        return workspace.read(path)

    def edit_file(path: str, old: str, new: str) -> str:
        # A tool that uses another: the record of the inner call names this one as its parent.
        run = current_run()
        assert run is not None
        text = run.tools.execute("read_file", {"path": path})
        clock.pass_time(12)
        workspace.write(path, text.replace(old, new))
        return f"{text.count(old)} place changed"

    def search_code(pattern: str) -> str:
        clock.pass_time(40)
        return workspace.search(pattern) or "nothing found"

    def run_tests() -> dict[str, int]:
        clock.pass_time(2200)
        return asdict(workspace.run_tests())

    def run_suite(environment: str) -> None:
        clock.pass_time(SUITE_TIMEOUT_S * 1000)
        workspace.run_suite(f"the suite's runner in {environment} did not answer in {SUITE_TIMEOUT_S} s")

    def open_pull_request(title: str) -> str:
        clock.pass_time(340)
        workspace.commit(title)
        return f"acme/parser!{workspace.push()}"

    def build(version: str) -> dict[str, str]:
        clock.pass_time(900)
        return {"version": version, "sha256": workspace.build(version)}

    def deploy(target: str) -> str:
        clock.pass_time(1800)
        return f"{workspace.deploy(target)} runs in {target}"

    def status(service: str) -> dict[str, Any]:
        clock.pass_time(25)
        return {"service": service, "runs_in": workspace.targets()}

    named = (read_file, edit_file, search_code, run_tests, run_suite, open_pull_request, build, deploy)
    return {**{tool.__name__: tool for tool in named}, "monitoring.status": status}


def hooks(workspace: Workspace) -> HookRegistry:
    """What is asked before a tool touches a file: inside the repository, and no key files."""
    scope = PathScopeHook(workspace.folder, forbidden=["**/.env", "**/*.pem"])
    return HookRegistry([scope.matcher("*_file")])
