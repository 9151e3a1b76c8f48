from tachograph.sinks.otlp.delivery import Delivered, Delivery
from tachograph.sinks.otlp.endpoint import Target, targets
from tachograph.sinks.otlp.vocabulary import Vocabulary

__all__ = ["Delivered", "Delivery", "Target", "Vocabulary", "targets"]
