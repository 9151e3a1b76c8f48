from tachograph.processors.errors import WorkerError
from tachograph.processors.names import TopicNames
from tachograph.processors.run import run_worker

__all__ = ["TopicNames", "WorkerError", "run_worker"]
