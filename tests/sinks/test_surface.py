"""What other folders may build on."""

import tachograph.sinks.clickhouse as package
from tachograph.schemas import topics
from tachograph.schemas.tables import TABLES


def test_the_package_exports_what_it_promises() -> None:
    """A short, sorted list; the rest is reached by full path."""
    assert package.__all__ == ["SINK_TOPICS", "Migration", "apply", "migrate", "plan", "run_sink"]
    assert all(hasattr(package, name) for name in package.__all__)


def test_every_table_has_a_topic_that_lands_in_it() -> None:
    """A table nobody feeds, or a topic whose rows go nowhere, would go unnoticed."""
    assert {topic.table for topic in package.SINK_TOPICS} == {table.name for table in TABLES}
    assert topics.DLQ in package.SINK_TOPICS
