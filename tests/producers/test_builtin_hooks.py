"""The hooks that ship: metrics, dangerous commands, path scope."""

from pathlib import Path
from typing import Any

import pytest

from tachograph.producers import HookAbortError, HookAction, HookRegistry, ToolExecutor, ToolUseContext
from tachograph.producers.hooks.commands import DangerousCommandHook, default_patterns, read_patterns
from tachograph.producers.hooks.metrics import MetricsHook
from tachograph.producers.hooks.paths import PathScopeHook
from tachograph.producers.testing import InMemoryPublisher
from tachograph.schemas.errors import ConfigError
from tests.producers.support import make_tracer


def context(**tool_input: Any) -> ToolUseContext:
    return ToolUseContext("shell", tool_input, "id")


class TestDangerousCommands:
    @pytest.mark.parametrize("known", default_patterns(), ids=lambda known: known.id)
    def test_each_pattern_finds_its_samples_and_no_others(self, known: Any) -> None:
        assert known.matches
        assert known.passes
        assert [text for text in known.matches if not known.pattern.search(text)] == []
        assert [text for text in known.passes if known.pattern.search(text)] == []

    @pytest.mark.parametrize(
        "tool_input",
        [{"command": "rm -rf /"}, {"argv": ["rm", "-rf", "/"]}, {"script": "ls\nsudo reboot"}, {"cmd": "x" * 70_000}],
        ids=["text", "words", "later line", "too long to judge"],
    )
    def test_aborts_and_names_the_rule_not_the_command(self, tool_input: dict[str, Any]) -> None:
        result = DangerousCommandHook().pre_hook(context(**tool_input))
        assert result.action is HookAction.ABORT
        assert result.metadata is not None
        assert result.metadata["violation"] == "dangerous_command"
        assert "rm -rf" not in result.reason

    def test_lets_the_rest_through(self) -> None:
        hook = DangerousCommandHook()
        assert hook.pre_hook(context(command="ls -la && git status")).action is HookAction.CONTINUE
        assert hook.pre_hook(ToolUseContext("t", 7, "id")).action is HookAction.CONTINUE  # type: ignore[arg-type]

    def test_in_a_run_the_violation_is_on_record(self) -> None:
        publisher = InMemoryPublisher()
        hooks = HookRegistry([DangerousCommandHook().matcher("sh*")])
        tracer = make_tracer(publisher, hooks=hooks, tools={"shell": lambda command: None})  # noqa: ARG005 - called by name
        with pytest.raises(HookAbortError), tracer.start_run() as run:
            run.tools.execute("shell", {"command": "sudo ls"})
        post = publisher.of("ToolCallRecord")[1]
        assert post["metadata"] == {"violation": "dangerous_command", "rule": "privilege_escalation"}
        assert post["hooks"][0]["hook"] == "DangerousCommandHook.pre_hook"

    @pytest.mark.parametrize("text", ["", "[[command]]\nid='x'", "[[command]]\nid='x'\npattern='('\nreason='r'", "="])
    def test_bad_pattern_files_are_refused(self, text: str) -> None:
        with pytest.raises(ConfigError):
            read_patterns(text)


class TestPathScope:
    @pytest.fixture
    def root(self, tmp_path: Path) -> Path:
        root = tmp_path / "repo"
        (root / "src" / "deep").mkdir(parents=True)
        (tmp_path / "outside").mkdir()
        (root / "src" / "link").symlink_to(tmp_path / "outside")
        (root / "src" / "loop").symlink_to(root / "src" / "loop")
        return root

    @pytest.mark.parametrize(
        ("path", "rule"),
        [
            ("src/a.py", None),
            ("src/deep/a.py", None),
            ("./src/../src/a.py", None),
            ("src/.env", "forbidden_path"),
            ("src/deep/.env", "forbidden_path"),
            ("README.md", "not_allowed_path"),
            ("../outside/a", "outside_root"),
            ("src/../../outside/a", "outside_root"),
            ("/etc/passwd", "outside_root"),
            ("src/link/a", "outside_root"),
            ("src/\0", "unresolvable_path"),
        ],
    )
    def test_rules(self, root: Path, path: str, rule: str | None) -> None:
        hook = PathScopeHook(root, allowed=["src/**"], forbidden=["**/.env"])
        assert hook.broken_rule(path) == rule
        result = hook.pre_hook(context(paths=["src/ok.py", path]))
        assert result.action is (HookAction.CONTINUE if rule is None else HookAction.ABORT)

    def test_a_loop_of_links_is_out_of_scope(self, root: Path) -> None:
        assert PathScopeHook(root).broken_rule("src/loop/x") == "unresolvable_path"

    def test_skip_instead_of_abort(self, root: Path) -> None:
        hook = PathScopeHook(root, action=HookAction.SKIP)
        executor = ToolExecutor({"write_file": lambda path: "written"}, HookRegistry([hook.matcher("*file")]))  # noqa: ARG005 - called by name
        assert executor.execute("write_file", {"path": "../x"}) is None
        assert executor.execute("write_file", {"path": "x"}) == "written"


def test_metrics_count_and_time() -> None:
    ticks = iter(range(100))
    hook = MetricsHook(clock=lambda: float(next(ticks)))
    executor = ToolExecutor({"ok": lambda: 1, "bad": lambda: 1 / 0}, HookRegistry([hook.matcher()]))
    executor.execute("ok")
    executor.execute("ok")
    with pytest.raises(ZeroDivisionError):
        executor.execute("bad")
    numbers = hook.tools
    assert (numbers["ok"].calls, numbers["ok"].errors, numbers["ok"].total_seconds) == (2, 0, 2.0)
    assert (numbers["bad"].calls, numbers["bad"].errors, numbers["bad"].longest_seconds) == (1, 1, 1.0)
