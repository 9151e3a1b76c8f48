"""Where the objectives are that come with the project."""

from pathlib import Path

import tachograph.deploy
from tachograph.console.slo.objective import Objective
from tachograph.console.slo.openslo import load_objectives
from tachograph.schemas.settings import Settings


def objectives(settings: Settings) -> list[Objective]:
    """The operator's objectives, or those that are shipped."""
    return load_objectives(settings.slo.folder or shipped_folder())


def shipped_folder() -> Path:
    """In an installed package beside the code; in the source tree in ``deploy/slos``."""
    package = Path(tachograph.deploy.__file__).parent
    installed = package / "slos"
    return installed if installed.is_dir() else package.parents[1] / "slos"
