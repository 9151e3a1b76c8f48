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
    running, heads, at = blake2b(digest_size=_SIZE), "", {}
    for count, message in enumerate(messages, 1):
        role, content = message["role"], message["content"]
        running.update(b"%d:%d:" % (len(role), len(content)))
        running.update(role.encode())
        running.update(content.encode(errors="surrogatepass"))
        at[count] = running.copy()
        if not heads and role == "user":
            heads = running.hexdigest()
    head = heads or at[1].hexdigest()
    known = conversations.pop(head, None)
    conversations[head] = [len(messages), running.hexdigest()]
    if len(conversations) > _MOST:
        del conversations[next(iter(conversations))]
    if known is None or bundle["transformations"]:
        return True
    count, digest = known
    return count in at and at[count].hexdigest() == digest
