"""The reference for the sink: consume, decode every row, insert through the client, commit. A process of its own."""

import sys
from pathlib import Path
from typing import Final

import clickhouse_connect
from confluent_kafka import Consumer, Message

from tachograph.schemas.settings import Settings, load_settings
from tachograph.schemas.tables import BY_NAME
from tachograph.schemas.topics import row_topic
from tachograph.schemas.wire import Codec

SOURCE: Final = "tool_calls"


def main(settings: Settings) -> None:
    """Land the rows of one topic until the process is ended."""
    clickhouse = settings.clickhouse
    client = clickhouse_connect.get_client(
        host=clickhouse.host,
        port=clickhouse.http_port,
        username=clickhouse.migrate_user,
        password=clickhouse.migrate_password.get_secret_value(),
        database=clickhouse.database,
    )
    consumer = Consumer(
        settings.kafka.client(
            **{"group.id": "bench-decoding", "auto.offset.reset": "earliest", "enable.auto.commit": False}
        )
    )
    consumer.subscribe([row_topic(SOURCE)])
    columns = [column.name for column in BY_NAME[SOURCE].columns]
    codec, batch = Codec(), list[Message]()
    while True:
        messages = consumer.consume(settings.sink.batch_rows - len(batch), settings.sink.batch_within_s)
        batch += messages
        if batch and (len(batch) >= settings.sink.batch_rows or not messages):
            rows = []
            for message in batch:
                row = codec.decode(message.value()).record
                rows.append([*(row[name] for name in columns), message.partition(), message.offset()])
            client.insert(SOURCE, rows, column_names=[*columns, "_partition", "_offset"])
            consumer.commit(asynchronous=False)
            batch = []


if __name__ == "__main__":
    main(load_settings(Path(sys.argv[1])))
