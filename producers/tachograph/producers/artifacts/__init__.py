from tachograph.producers.artifacts.builder import ArtifactBuilder
from tachograph.producers.artifacts.errors import ArtifactError, GitError
from tachograph.producers.artifacts.folder import FolderArtifactWriter
from tachograph.producers.artifacts.sealed import ArtifactKey, open_sealed, seal

__all__ = [
    "ArtifactBuilder",
    "ArtifactError",
    "ArtifactKey",
    "FolderArtifactWriter",
    "GitError",
    "open_sealed",
    "seal",
]
