"""The spool: messages go to a file before ``publish`` returns, and from there to Kafka, once.

Where to start reading: ``publisher.py`` puts the parts together; ``inlet.py`` is what a caller pays for;
``sender.py`` is the thread that empties it; ``lane.py`` says what is sent, acknowledged and uncertain.

What holds
    Once ``publish`` returns, the message survives kill -9 (``process``) or power loss (``disk``), and reaches Kafka
    once and in order per topic and key. A later process adopts what a dead one left, and asks Kafka which messages of
    the uncertain tail are there already: every message carries where in which spool it was (``tg-spool``).

What does not
    A request that the broker takes from a dead process's connection later than ``settle`` seconds after the adopter
    saw it dead, or one not yet replicated when the tail is read back, makes a repeat. So does a tail whose first
    delivery has already left the topic by retention. Such a repeat carries the same ``tg-spool`` header, and its
    coordinates are not above the highest seen from that spool in that partition: a reader drops it by that rule.
"""

from tachograph.producers.spool.draining import DrainReport, drain
from tachograph.producers.spool.identity import SPOOL_HEADER, SpoolCoordinates
from tachograph.producers.spool.inspection import SegmentReport, SpoolReport, SubfolderReport, inspect
from tachograph.producers.spool.options import SpoolOptions
from tachograph.producers.spool.publisher import SpoolPublisher

__all__ = [
    "SPOOL_HEADER",
    "DrainReport",
    "SegmentReport",
    "SpoolCoordinates",
    "SpoolOptions",
    "SpoolPublisher",
    "SpoolReport",
    "SubfolderReport",
    "drain",
    "inspect",
]
