"""The built wheel is one package and works with its core dependencies alone."""

import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CORE_IMPORTS = "import tachograph.schemas, tachograph.producers, tachograph.schemas.wire, tachograph.schemas.settings"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("wheel")
    uv = next(path for path in (ROOT / ".tools/bin/uv", Path("uv")) if path.exists() or path == Path("uv"))
    subprocess.run([uv, "build", "--wheel", "--quiet", "--out-dir", out, ROOT], check=True)
    return next(out.glob("*.whl"))


def test_the_wheel_has_one_top_level_package(wheel: Path) -> None:
    """No generic name such as `schemas` or `tests` is installed."""
    with zipfile.ZipFile(wheel) as archive:
        tops = {name.split("/")[0] for name in archive.namelist()}
        names = set(archive.namelist())
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert tops == {"tachograph", f"tachograph-{version}.dist-info"}
    assert "tachograph/schemas/avsc/index.json" in names
    assert "tachograph/deploy/slos/tool-success.yaml" in names
    assert {"templates/base.html", "static/console.css", "static/console.js"} <= {
        name.removeprefix("tachograph/console/web/") for name in names
    }
    assert not [name for name in names if name == "tachograph/__init__.py"]


def test_the_core_installs_and_imports_alone(wheel: Path, tmp_path: Path) -> None:
    """An agent's environment gets the SDK without Faust, ClickHouse or a command line; the command says what to add."""
    uv = next(path for path in (ROOT / ".tools/bin/uv", Path("uv")) if path.exists() or path == Path("uv"))
    environment = tmp_path / "venv"
    subprocess.run([uv, "venv", "--quiet", "--python", sys.executable, environment], check=True)
    python = environment / "bin/python"
    subprocess.run([uv, "pip", "install", "--quiet", "--python", python, wheel], check=True)
    subprocess.run([python, "-c", CORE_IMPORTS], check=True, cwd=tmp_path)
    missing = subprocess.run([python, "-c", "import faust"], check=False, capture_output=True, cwd=tmp_path)
    assert missing.returncode != 0
    command = subprocess.run(
        [environment / "bin/tachograph", "--help"], check=False, capture_output=True, text=True, cwd=tmp_path
    )
    assert command.returncode == 2
    assert "pip install 'tachograph[pipeline]'" in command.stderr
