"""C2SP signed notes: text, an empty line, and a line for each signature. Ed25519 only.

https://c2sp.org/signed-note. The text of a note may be used only after `open_note` returned it.
"""

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from tachograph.schemas.proofs.encoding import from_base64, to_base64
from tachograph.schemas.proofs.errors import NoteError

ED25519: Final = b"\x01"
"""Signature type of the specification."""

MAX_NOTE_BYTES: Final = 64 * 1024
MAX_SIGNATURES: Final = 100

_LINE: Final = "\u2014 "
_ID_BYTES: Final = 4
_KEY_BYTES: Final = 32
_VKEY_PARTS: Final = 3

Sign = Callable[[bytes], bytes]
"""What makes an Ed25519 signature: a key in memory, a signing process, a KMS."""


@lru_cache(maxsize=1024)
def _loaded(public: bytes) -> Ed25519PublicKey:
    # A log has thousands of signatures by one key, and loading it costs a good part of a verification.
    return Ed25519PublicKey.from_public_bytes(public)


@dataclass(frozen=True, slots=True)
class NoteKey:
    """A name and a public key: who may sign."""

    name: str
    public: bytes

    def __post_init__(self) -> None:
        if not self.name or "+" in self.name or any(char.isspace() or char < " " for char in self.name):
            raise NoteError("the name of a key is not empty and has neither spaces nor '+'")
        if len(self.public) != _KEY_BYTES:
            raise NoteError("an Ed25519 public key has 32 bytes")

    @property
    def id(self) -> bytes:
        """Four bytes that tell keys of one name apart. Not a hash to rely on."""
        return hashlib.sha256(self.name.encode() + b"\n" + ED25519 + self.public).digest()[:_ID_BYTES]

    def vkey(self) -> str:
        """The key as one line of text."""
        return f"{self.name}+{self.id.hex()}+{to_base64(ED25519 + self.public)}"

    @classmethod
    def parse(cls, vkey: str) -> "NoteKey":
        """Read a key that `vkey` wrote."""
        parts = vkey.split("+", 2)
        if len(parts) != _VKEY_PARTS:
            raise NoteError("a verifier key is written name+id+key")
        name, key_id, encoded = parts
        material = from_base64(encoded)
        if material[:1] != ED25519:
            raise NoteError("this verifier key is not of type Ed25519")
        key = cls(name, material[1:])
        if key.id.hex() != key_id:
            raise NoteError("the id of this verifier key is not that of its name and key")
        return key

    def verifies(self, signature: bytes, message: bytes) -> bool:
        """Tell whether this key made the signature."""
        try:
            _loaded(self.public).verify(signature, message)
        except (InvalidSignature, ValueError):
            return False
        return True


@dataclass(frozen=True, slots=True)
class OpenedNote:
    """A note that at least one trusted key has signed."""

    text: str
    signed_by: tuple[NoteKey, ...]


def sign_note(text: str, signers: Iterable[tuple[NoteKey, Sign]]) -> str:
    """The note with a line for each signer. What a signer returns is checked: nothing goes out that fails to verify."""
    _check_text(text)
    lines = []
    for key, sign in signers:
        signature = sign(text.encode())
        if not key.verifies(signature, text.encode()):
            raise NoteError(f"the signature that was made for {key.name} does not verify; is it the key's other half?")
        lines.append(f"{_LINE}{key.name} {to_base64(key.id + signature)}\n")
    if not lines:
        raise NoteError("a note needs a signature")
    return f"{text}\n{''.join(lines)}"


def open_note(note: str | bytes, keys: Iterable[NoteKey]) -> OpenedNote:
    """Return the text of a note that a trusted key signed. Unknown keys are passed over; a known one must verify."""
    text, signatures = parse_note(note)
    known = {(key.name, key.id): key for key in keys}
    signed_by: list[NoteKey] = []
    for name, key_id, signature in signatures:
        key = known.get((name, key_id))
        if key is None or key in signed_by:
            continue
        if not key.verifies(signature, text.encode()):
            raise NoteError(f"the signature of {name} does not verify")
        signed_by.append(key)
    if not signed_by:
        raise NoteError("no trusted key has signed this note")
    return OpenedNote(text, tuple(signed_by))


def parse_note(note: str | bytes) -> tuple[str, list[tuple[str, bytes, bytes]]]:
    """Text and signatures (name, key id, signature) of a note, not yet verified."""
    try:
        data = note.encode() if isinstance(note, str) else note
        whole = data.decode()
    except UnicodeError:
        raise NoteError("a note is UTF-8 text") from None
    if len(data) > MAX_NOTE_BYTES:
        raise NoteError(f"a note has at most {MAX_NOTE_BYTES} bytes")
    before, blank, after = whole.rpartition("\n\n")
    text = before + "\n"
    if not blank or not after.endswith("\n"):
        raise NoteError("a note is text, an empty line and signatures")
    _check_text(text)
    lines = after[:-1].split("\n")
    if len(lines) > MAX_SIGNATURES:
        raise NoteError(f"a note has at most {MAX_SIGNATURES} signatures")
    return text, [_signature(line) for line in lines]


def _signature(line: str) -> tuple[str, bytes, bytes]:
    name, space, encoded = line.removeprefix(_LINE).partition(" ")
    if not line.startswith(_LINE) or not space or not name or "+" in name or any(map(str.isspace, name)):
        raise NoteError("a line below the text of a note is no signature")
    data = from_base64(encoded)
    if len(data) <= _ID_BYTES:
        raise NoteError("a signature of a note is too short")
    return name, data[:_ID_BYTES], data[_ID_BYTES:]


def _check_text(text: str) -> None:
    if not text.endswith("\n"):
        raise NoteError("the text of a note ends with a newline")
    if any(char < " " and char != "\n" for char in text):
        raise NoteError("the text of a note has no control characters but newlines")
