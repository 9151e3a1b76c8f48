"""Checksums and structure: what looks like a card, an account or a token and is none is left alone."""

import json
from base64 import urlsafe_b64encode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tachograph.producers.redaction import Redactor
from tachograph.producers.redaction.validators import iban, jwt, luhn

CARDS = [b"4111111111111111", b"5500 0055 5555 5559", b"3400-0000-0000-009"]
IBANS = [b"DE89 3704 0044 0532 0130 00", b"GB82WEST12345698765432", b"NO93 8601 1117 947"]


def with_check_digit(digits: str) -> str:
    """The number whose last digit makes it right, found by trying."""
    return next(f"{digits}{last}" for last in range(10) if luhn(f"{digits}{last}".encode()))


@pytest.mark.parametrize("card", CARDS)
def test_cards(card: bytes) -> None:
    """In any of the usual spellings."""
    assert luhn(card)


@given(st.text("0123456789", min_size=12, max_size=18).filter(lambda digits: len(set(digits)) > 1), st.data())
def test_one_wrong_digit_makes_a_card_wrong(digits: str, data: st.DataObject) -> None:
    """That is what the check digit is for."""
    card = with_check_digit(digits)
    place = data.draw(st.integers(0, len(card) - 1))
    other = data.draw(st.sampled_from([digit for digit in "0123456789" if digit != card[place]]))
    assert not luhn(f"{card[:place]}{other}{card[place + 1 :]}".encode())


@pytest.mark.parametrize(
    "number", [b"0" * 16, b"411111111111", b"4" * 20, b"", b"4111111111111112"],
    ids=["all alike", "too short", "too long", "nothing", "wrong check digit"],
)  # fmt: skip
def test_what_is_no_card(number: bytes) -> None:
    assert not luhn(number)


@pytest.mark.parametrize("account", IBANS)
def test_accounts(account: bytes) -> None:
    """With and without spaces; any single character changed makes it wrong."""
    assert iban(account)
    compact = account.replace(b" ", b"")
    for place in range(len(compact)):
        other = b"1" if compact[place : place + 1] != b"1" else b"2"
        assert not iban(compact[:place] + other + compact[place + 1 :])


@pytest.mark.parametrize("text", [b"", b"DE89", b"DE89!370400440532013000", "DÉ89370400440532013000".encode()])
def test_what_is_no_account(text: bytes) -> None:
    assert not iban(text)


def token(header: object) -> bytes:
    return urlsafe_b64encode(json.dumps(header).encode()).rstrip(b"=") + b".e30.c2ln"


def test_tokens() -> None:
    """The header must be an object that says what it is."""
    assert jwt(token({"alg": "HS256"}))
    assert jwt(token({"typ": "JWT"}))
    assert jwt(token({"enc": "A256GCM"}))
    for header in ({"a": 1}, ["alg"], "alg", 7):
        assert not jwt(token(header))
    assert not jwt(b"not base64!.e30.c2ln")
    assert not jwt(b"")


@given(st.binary(max_size=200))
def test_any_bytes_have_an_answer(data: bytes) -> None:
    """None of them raises, whatever it is given."""
    assert {luhn(data), iban(data), jwt(data)} <= {True, False}


def test_the_rules_go_by_the_checks() -> None:
    """The same sentence with one digit changed is left as it is."""
    redactor = Redactor()
    for right, wrong in (
        ("pay with 4111 1111 1111 1111 today", "pay with 4111 1111 1111 1112 today"),
        ("to DE89 3704 0044 0532 0130 00 please", "to DE89 3704 0044 0532 0130 01 please"),
    ):
        assert "[REDACTED:" in redactor.text(right).text
        assert redactor.text(wrong).text == wrong
