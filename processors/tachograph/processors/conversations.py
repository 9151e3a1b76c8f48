"""Whether a prompt was changed without saying so, decided mechanically.

A conversation is named by its head: every message up to and including the first of the user. Its next call must send
the messages of its last call again, unchanged and in order, and may add to them. Anything else is a transformation
(cut, summarised, rewritten), and the bundle must record one.
"""

from hashlib import blake2b
from typing import Any, Final

_MOST: Final = 16
"""Conversations remembered for one run. A forgotten one starts anew."""

_SIZE: Final = 8

Conversations = dict[str, list[Any]]
"""Of every head: how many messages its last call sent, and their digest."""


def continues(conversations: Conversations, bundle: dict[str, Any]) -> bool:
    """Remember a bundle. False if it changes what its conversation sent before and records no transformation."""
    messages = bundle["messages"]
    if not messages:
        return True
    head_length = next((count for count, message in enumerate(messages, 1) if message["role"] == "user"), 1)
    running = blake2b(digest_size=_SIZE)
    known: list[Any] | None = None
    head, same = "", False
    for count, message in enumerate(messages, 1):
        role, content = message["role"], message["content"]
        running.update(b"%d:%d:" % (len(role), len(content)))
        running.update(role.encode())
        running.update(content.encode(errors="surrogatepass"))
        if count == head_length:
            head = running.hexdigest()
            known = conversations.pop(head, None)
        if known is not None and count == known[0]:
            same = running.hexdigest() == known[1]
    conversations[head] = [len(messages), running.hexdigest()]
    if len(conversations) > _MOST:
        del conversations[next(iter(conversations))]
    return known is None or same or bool(bundle["transformations"])
