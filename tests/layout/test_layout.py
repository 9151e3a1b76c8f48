"""The six source roots are one namespace, and every tool looks at all of them."""

import ast
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROOTS = ["schemas", "producers", "processors", "sinks", "console", "deploy"]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
TOOL = PROJECT["tool"]


@pytest.mark.parametrize("root", ROOTS)
def test_no_root_claims_the_namespace(root: str) -> None:
    """A stray tachograph/__init__.py would hide the other five roots."""
    assert not (ROOT / root / "tachograph" / "__init__.py").exists()


@pytest.mark.parametrize("root", ROOTS)
def test_each_root_holds_one_typed_package(root: str) -> None:
    """Folder x holds tachograph.x and nothing else importable, and says that it is typed."""
    packages = {path.name for path in (ROOT / root / "tachograph").iterdir() if path.name != "__pycache__"}
    assert packages == {root}
    assert (ROOT / root / "tachograph" / root / "py.typed").exists()


@pytest.mark.parametrize(
    "listed",
    [
        pytest.param(TOOL["hatch"]["build"]["dev-mode-dirs"], id="editable install"),
        pytest.param(TOOL["hatch"]["build"]["targets"]["wheel"]["sources"], id="wheel sources"),
        pytest.param(
            [item.split("/")[0] for item in TOOL["hatch"]["build"]["targets"]["wheel"]["only-include"]],
            id="wheel content",
        ),
        pytest.param(TOOL["mypy"]["mypy_path"], id="mypy path"),
        pytest.param(TOOL["mypy"]["files"][: len(ROOTS)], id="mypy files"),
        pytest.param(TOOL["pyright"]["extraPaths"], id="pyright"),
        pytest.param(TOOL["ruff"]["src"], id="ruff"),
        pytest.param(
            [item.removeprefix("tachograph.") for item in TOOL["importlinter"]["root_packages"]], id="import-linter"
        ),
    ],
)
def test_every_tool_lists_every_root(listed: list[str]) -> None:
    """A root left out of a checker's list is silently unchecked."""
    assert listed == ROOTS


def test_every_lint_exemption_has_its_reason() -> None:
    """An ignored rule stands on its own line with a comment that says why."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    section = text[text.index("[tool.ruff.lint]") : text.index("[tool.ruff.lint.flake8-tidy-imports]")]
    lines = [line.strip() for line in section.splitlines()]
    rules = [line for line in lines if line.startswith('"') and line[1].isupper()]
    assert rules
    assert [line for line in rules if "#" not in line] == []


def test_every_inline_exemption_has_its_reason() -> None:
    """A bare noqa or type: ignore says nothing to the next reader."""
    bare = []
    for folder in [*ROOTS, "tests", "benchmarks", "examples"]:
        for path in sorted((ROOT / folder).rglob("*.py")):
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
                _, marker, rest = line.partition("  # " + "noqa")
                if marker and not rest.startswith(":"):
                    bare.append(f"{path.relative_to(ROOT)}:{number}")
    assert bare == []


def test_tests_do_not_sleep() -> None:
    """A test that sleeps is either slow or flaky. Waiting for a condition is a loop with a deadline."""
    sleeping = []
    for path in sorted((ROOT / "tests").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "sleep":
                owner = node.func.value
                if isinstance(owner, ast.Name) and owner.id == "time":
                    sleeping.append(f"{path.relative_to(ROOT)}:{node.lineno}")
    assert sleeping == []
