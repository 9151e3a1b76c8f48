"""The tools of the demo's agent: plain functions on the workspace. Each takes its time on the story's clock."""

import json
from collections.abc import Callable
from dataclasses import asdict
from typing import Any, Final

from tachograph.console.demo.clock import StoryClock
from tachograph.console.demo.workspace import Workspace
from tachograph.producers import HookRegistry, current_run
from tachograph.producers.hooks.paths import PathScopeHook

SUITE_TIMEOUT_S: Final = 30

DESCRIBED: Final[list[dict[str, Any]]] = [
    {"name": "read_file", "description": "Read a file", "schema": {"type": "object", "required": ["path"]}},
    {
        "name": "edit_file",
        "description": "Replace text in a file",
        "schema": {"type": "object", "required": ["path", "old", "new"]},
    },
    {"name": "run_tests", "description": "Run the unit tests", "schema": {"type": "object"}},
    {"name": "run_suite", "description": "Run the integration suite", "schema": {"type": "object"}},
    {
        "name": "open_pull_request",
        "description": "Open a pull request",
        "schema": {"type": "object", "required": ["title"]},
    },
    {"name": "deploy", "description": "Deploy a service", "schema": {"type": "object", "required": ["target"]}},
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

    def run_tests() -> dict[str, int]:
        clock.pass_time(2200)
        return asdict(workspace.run_tests())

    def run_suite(environment: str) -> str:
        clock.pass_time(SUITE_TIMEOUT_S * 1000)
        raise TimeoutError(f"the suite's runner in {environment} did not answer in {SUITE_TIMEOUT_S} s")

    def open_pull_request(title: str) -> str:
        clock.pass_time(340)
        workspace.write("pulls/17.json", json.dumps({"title": title}))
        return "acme/parser!17"

    def deploy(service: str, version: str, target: str) -> str:
        clock.pass_time(1800)
        workspace.write(f"deployed/{target}.json", json.dumps({"service": service, "version": version}))
        return f"{service} {version} runs in {target}"

    return {tool.__name__: tool for tool in (read_file, edit_file, run_tests, run_suite, open_pull_request, deploy)}


def hooks(workspace: Workspace) -> HookRegistry:
    """What is asked before a tool touches a file."""
    scope = PathScopeHook(workspace.folder, allowed=["src/**", "tests/**"])
    return HookRegistry([scope.matcher("*_file")])
