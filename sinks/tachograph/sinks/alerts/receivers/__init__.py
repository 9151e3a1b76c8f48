from tachograph.sinks.alerts.receivers.opening import Receive, open_receiver

__all__ = ["Receive", "open_receiver"]
