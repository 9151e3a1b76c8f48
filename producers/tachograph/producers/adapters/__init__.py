from tachograph.producers.adapters.anthropic import instrument_anthropic
from tachograph.producers.adapters.openai import instrument_openai

__all__ = ["instrument_anthropic", "instrument_openai"]
