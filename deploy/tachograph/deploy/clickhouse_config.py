"""ClickHouse's ``config.xml``: where it listens and what it keeps about itself.

Both stacks take the second part from here; in Docker the image brings the first.
"""

from xml.etree import ElementTree as ET

from tachograph.deploy.ports import LOOPBACK, Ports

# ClickHouse's own logs grow without end by default: 66 GiB were seen beside 51 MiB of data.
LOG_DAYS = 7
_KEPT_LOGS = ("error_log", "part_log", "query_log")
_DROPPED_LOGS = (
    "asynchronous_insert_log",
    "asynchronous_metric_log",
    "background_schedule_pool_log",
    "blob_storage_log",
    "latency_log",
    "metric_log",
    "opentelemetry_span_log",
    "processors_profile_log",
    "query_metric_log",
    "query_thread_log",
    "query_views_log",
    "text_log",
    "trace_log",
)


def local_config(ports: Ports) -> str:
    """Configuration of the local server. Paths are relative to its folder."""
    root = ET.Element("clickhouse")
    logger = ET.SubElement(root, "logger")
    ET.SubElement(logger, "level").text = "information"
    ET.SubElement(logger, "console").text = "1"  # which the supervisor writes to the log file
    ET.SubElement(root, "listen_host").text = LOOPBACK
    ET.SubElement(root, "http_port").text = str(ports.clickhouse_http_port)
    ET.SubElement(root, "tcp_port").text = str(ports.clickhouse_tcp_port)
    ET.SubElement(root, "users_config").text = "users.xml"
    directory = ET.SubElement(ET.SubElement(root, "user_directories"), "users_xml")
    ET.SubElement(directory, "path").text = "users.xml"
    _add_common(root)
    return _text(root)


def docker_config() -> str:
    """What the official image's own configuration needs on top."""
    root = ET.Element("clickhouse")
    _add_common(root)
    return _text(root)


def _add_common(root: ET.Element) -> None:
    # Without it, every account may read system tables, other people's queries among them.
    access = ET.SubElement(root, "access_control_improvements")
    for name in (
        "select_from_system_db_requires_grant",
        "select_from_information_schema_requires_grant",
        "table_engines_require_grant",
        "settings_constraints_replace_previous",
    ):
        ET.SubElement(access, name).text = "true"
    for name in _KEPT_LOGS:
        log = ET.SubElement(root, name)
        ET.SubElement(log, "database").text = "system"
        ET.SubElement(log, "table").text = name
        ET.SubElement(log, "partition_by").text = "event_date"
        ET.SubElement(log, "ttl").text = f"event_date + INTERVAL {LOG_DAYS} DAY DELETE"
        ET.SubElement(log, "flush_interval_milliseconds").text = "7500"
    for name in _DROPPED_LOGS:
        ET.SubElement(root, name, {"remove": "1"})


def _text(root: ET.Element) -> str:
    ET.indent(root)
    return ET.tostring(root, encoding="unicode") + "\n"
