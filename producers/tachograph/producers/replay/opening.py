"""Finding a run's recording among files."""

from pathlib import Path

from tachograph.schemas.recording import SUFFIX, Recording, RecordingError, file_name


def opened(given: Recording | Path, run_id: str) -> Recording:
    """The recording of a run: as given, from its file, or from a folder of recordings."""
    if isinstance(given, Recording):
        recording = given
    elif given.is_dir():
        path = given / (file_name(run_id) + SUFFIX)
        if not path.exists():
            raise RecordingError(
                f"{given} has no recording of run {run_id}: `tachograph recording export {run_id} {given}` writes one"
            )
        recording = Recording.load(path)
    else:
        recording = Recording.load(given)
    if recording.run_id != run_id:
        raise RecordingError(f"the recording is one of run {recording.run_id}, not of {run_id}")
    return recording
