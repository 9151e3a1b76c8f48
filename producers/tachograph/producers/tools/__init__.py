from tachograph.producers.tools.executor import Tool, ToolExecutor

__all__ = ["Tool", "ToolExecutor"]
