"""An alerting consumer: prints violations of severity error or worse. ``python alerting_consumer.py [GROUP]``."""

import sys
from contextlib import closing, suppress

from confluent_kafka import Consumer

from tachograph.schemas.settings import load_settings
from tachograph.schemas.topics import VIOLATIONS
from tachograph.schemas.wire import Codec

group = sys.argv[1] if len(sys.argv) > 1 else "alerting-example"
own = {"group.id": group, "auto.offset.reset": "earliest", "enable.auto.offset.store": False}
codec = Codec()
with closing(Consumer(load_settings().kafka.client(**own))) as consumer, suppress(KeyboardInterrupt):
    consumer.subscribe([topic.name for topic in VIOLATIONS])
    while True:
        message = consumer.poll(1.0)
        if message is not None and message.error() is None:
            row = codec.decode_as("rows.violations", message.value())
            if row["severity"] in ("error", "critical"):
                print(row["violation_id"], row["severity"], row["code"], row["message"], flush=True)
            # Stored once it was handled: a crash may repeat an alert, under the same violation_id, and loses none.
            consumer.store_offsets(message)
