"""The versions of the servers, and of the layout of the state folder."""

KAFKA_VERSION = "4.3.1"
"""The broker. Its jars are pinned in ``kafka.jars``; the compose file uses the same release."""

CLICKHOUSE_VERSION = "26.9"
"""The release line of the server inside the pinned chdb wheel; the compose file uses the same line."""

LAYOUT_VERSION = 1
"""How the state folder is arranged. Raised when a new arrangement cannot be read as the old one."""
