"""The Grafana dashboards: described here, written to ``deploy/grafana/dashboards`` as Grafana reads them."""

from tachograph.deploy.grafana.files import dashboard_files

__all__ = ["dashboard_files"]
