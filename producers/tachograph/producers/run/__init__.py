"""A run, by what is done with it: ``life`` puts the parts together."""

from tachograph.producers.run.life import Run

__all__ = ["Run"]
