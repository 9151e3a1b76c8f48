from tachograph.sinks.alerts.loop import ALERT_TOPICS, run_alerts
from tachograph.sinks.alerts.routes import RoutingTable, load_routes

__all__ = ["ALERT_TOPICS", "RoutingTable", "load_routes", "run_alerts"]
