"""Write the dashboards: ``python -m tachograph.deploy.grafana deploy/grafana/dashboards``.

Objectives of your own (``TACHOGRAPH_SLO__FOLDER``) get panels in place of the shipped ones.
"""

import sys
from pathlib import Path

from tachograph.console.slo.shipped import objectives
from tachograph.deploy.grafana.files import dashboard_files
from tachograph.schemas.settings import load_settings

if __name__ == "__main__":
    folder = Path(sys.argv[1])
    for name, text in dashboard_files(objectives(load_settings())).items():
        (folder / name).write_text(text, encoding="utf-8")
