from tachograph.sinks.artifacts.entry import Content, Entry, State
from tachograph.sinks.artifacts.errors import ArtifactStoreError
from tachograph.sinks.artifacts.keys import FolderKeys, TenantKey, TenantKeys
from tachograph.sinks.artifacts.objects import Objects
from tachograph.sinks.artifacts.store import ArtifactStore, Erasure, open_store

__all__ = [
    "ArtifactStore",
    "ArtifactStoreError",
    "Content",
    "Entry",
    "Erasure",
    "FolderKeys",
    "Objects",
    "State",
    "TenantKey",
    "TenantKeys",
    "open_store",
]
