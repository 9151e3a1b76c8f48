"""Settings come from defaults, the stack's file and the environment, in that order; secrets stay hidden."""

from pathlib import Path

import pytest
from pydantic import BaseModel, ValidationError

from tachograph.schemas.errors import ConfigError
from tachograph.schemas.settings import Settings, load_settings


def test_defaults_need_no_file(tmp_path: Path) -> None:
    """A process without a stack still has usable settings."""
    assert load_settings(tmp_path).kafka.partitions == 4


def test_the_stack_file_fills_in_and_the_environment_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What `tachograph up` wrote is found; what the operator exports is stronger."""
    (tmp_path / "stack.env").write_text(
        "TACHOGRAPH_KAFKA__BOOTSTRAP_SERVERS=127.0.0.1:1111\nTACHOGRAPH_CLICKHOUSE__SINK_PASSWORD=hidden-1\n"
    )
    monkeypatch.setenv("TACHOGRAPH_KAFKA__BOOTSTRAP_SERVERS", "127.0.0.1:2222")
    settings = load_settings(tmp_path)
    assert settings.kafka.bootstrap_servers == "127.0.0.1:2222"
    assert settings.clickhouse.sink_password.get_secret_value() == "hidden-1"
    assert "hidden-1" not in repr(settings)
    assert "hidden-1" not in settings.model_dump_json()


def test_a_wrong_setting_is_named_as_the_operator_wrote_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error names the variable, not the value."""
    monkeypatch.setenv("TACHOGRAPH_KAFKA__PARTITIONS", "many-canary")
    with pytest.raises(ConfigError, match="TACHOGRAPH_KAFKA__PARTITIONS") as caught:
        load_settings(tmp_path)
    assert "canary" not in str(caught.value)


def test_a_misspelt_setting_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A typo must not silently leave the default in force."""
    monkeypatch.setenv("TACHOGRAPH_KAFKA__PARTITONS", "8")
    with pytest.raises(ConfigError, match="PARTITONS"):
        load_settings(tmp_path)


def test_settings_are_frozen(tmp_path: Path) -> None:
    """What a process started with is what it runs with."""
    settings = load_settings(tmp_path)
    with pytest.raises(ValidationError):
        settings.kafka.partitions = 8  # type: ignore[misc]
    with pytest.raises(ValidationError):
        settings.tenant_id = "other"  # type: ignore[misc]


def test_every_setting_is_documented_in_place() -> None:
    """`tachograph config show` can explain each one."""
    for name, section in Settings.model_fields.items():
        if isinstance(section.annotation, type) and issubclass(section.annotation, BaseModel):
            for field, info in section.annotation.model_fields.items():
                assert info.description, f"{name}.{field}"
        else:
            assert section.description, name
