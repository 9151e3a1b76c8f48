"""Checks beyond a regular expression: checksums, structure, entropy."""

import binascii
import math
from base64 import urlsafe_b64decode
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Final

import orjson

__all__ = ["VALIDATORS", "entropy", "iban", "jwt", "luhn"]

_CARD_DIGITS: Final = range(13, 20)
_IBAN_LENGTH: Final = range(15, 35)
_ZERO: Final = ord("0")
_NINE: Final = 9


def luhn(secret: bytes) -> bool:
    """Tell whether the digits are a card number: 13 to 19 of them with a right check digit, not all alike."""
    digits = [byte - _ZERO for byte in secret if 0 <= byte - _ZERO <= _NINE]
    if len(digits) not in _CARD_DIGITS or len(set(digits)) == 1:
        return False
    doubled = (digit * 2 - _NINE if digit * 2 > _NINE else digit * 2 for digit in digits[-2::-2])
    return (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0


def iban(secret: bytes) -> bool:
    """Tell whether it is an international bank account number: the remainder modulo 97 is 1 (ISO 7064)."""
    compact = secret.replace(b" ", b"").replace(b"-", b"").upper()
    if len(compact) not in _IBAN_LENGTH or not compact.isalnum():
        return False
    return int("".join(str(int(chr(byte), 36)) for byte in compact[4:] + compact[:4])) % 97 == 1


def jwt(secret: bytes) -> bool:
    """Tell whether the first part is the header of a JSON Web Token: an object that names an algorithm or a type."""
    part = secret.split(b".", 1)[0]
    try:
        header = orjson.loads(urlsafe_b64decode(part + b"=" * (-len(part) % 4)))
    except (binascii.Error, ValueError):
        return False
    return isinstance(header, dict) and ("alg" in header or "typ" in header or "enc" in header)


def entropy(secret: bytes) -> float:
    """Return Shannon's entropy of the bytes in bits per byte."""
    size = len(secret)
    return -sum(count / size * math.log2(count / size) for count in Counter(secret).values())


VALIDATORS: Final[Mapping[str, Callable[[bytes], bool]]] = {"iban": iban, "jwt": jwt, "luhn": luhn}
"""The checks a rule may name."""
