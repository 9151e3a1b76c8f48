from tachograph.schemas.wire.catalogue import Catalogue, SchemaVersion, load_catalogue
from tachograph.schemas.wire.codec import Codec, Decoded
from tachograph.schemas.wire.convert import from_avro, to_avro
from tachograph.schemas.wire.framing import SINGLE_OBJECT_PREFIX, Framing, split

__all__ = [
    "SINGLE_OBJECT_PREFIX",
    "Catalogue",
    "Codec",
    "Decoded",
    "Framing",
    "SchemaVersion",
    "from_avro",
    "load_catalogue",
    "split",
    "to_avro",
]
