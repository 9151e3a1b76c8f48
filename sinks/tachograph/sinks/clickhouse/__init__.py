from tachograph.sinks.clickhouse.loop import SINK_TOPICS, run_sink
from tachograph.sinks.clickhouse.migrate import apply, migrate, plan
from tachograph.sinks.clickhouse.shipped import Migration

__all__ = ["SINK_TOPICS", "Migration", "apply", "migrate", "plan", "run_sink"]
