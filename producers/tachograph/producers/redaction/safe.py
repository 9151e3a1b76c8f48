"""Text that every encoder and store takes: no half surrogate pairs, no NUL."""

from typing import Final

__all__ = ["plain_text", "safe_text"]

_REPLACEMENT: Final = "\ufffd"


def safe_text(text: str) -> str:
    """Return the text with halves of surrogate pairs and NUL characters replaced by U+FFFD; mostly the text itself."""
    if "\0" in text:
        text = text.replace("\0", _REPLACEMENT)
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        # Through UTF-16 real pairs written as two halves are joined, and only what is left over is replaced.
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def plain_text(text: str) -> str:
    """Return a subclass of `str` as the text it holds, by the built-in's own method: overridden ones may lie."""
    return text if type(text) is str else str.__str__(text)
