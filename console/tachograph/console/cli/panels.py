"""Groups of commands, as the help shows them."""

from typing import Final

START: Final = "Start here"
READ: Final = "Read what happened"
PROVE: Final = "Prove it"
RUN: Final = "Run the pipeline"
TOOLS: Final = "Look after it"
