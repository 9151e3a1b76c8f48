"""Ports: free, configured or remembered."""

import socket
from collections.abc import Iterator
from contextlib import closing
from dataclasses import astuple

import pytest

from tachograph.deploy.errors import PortTaken
from tachograph.deploy.ports import Ports, choose_ports, is_free
from tachograph.schemas.settings import LocalSettings


@pytest.fixture
def taken() -> Iterator[int]:
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        yield server.getsockname()[1]


def test_unconfigured_ports_are_four_different_free_ones() -> None:
    """Nothing has to be configured."""
    ports = astuple(choose_ports(LocalSettings()))
    assert len(set(ports)) == 4
    assert all(is_free(port) for port in ports)


def test_a_configured_port_is_used_and_the_rest_remembered() -> None:
    """A restart in the same folder keeps its ports."""
    first = choose_ports(LocalSettings())
    wanted = choose_ports(LocalSettings()).kafka_port
    again = choose_ports(LocalSettings(kafka_port=wanted), first)
    assert again == Ports(wanted, first.controller_port, first.clickhouse_http_port, first.clickhouse_tcp_port)


def test_a_remembered_port_that_is_taken_is_replaced(taken: int) -> None:
    """Nobody asked for that very port."""
    before = choose_ports(LocalSettings())
    again = choose_ports(
        LocalSettings(), Ports(taken, before.controller_port, before.clickhouse_http_port, before.clickhouse_tcp_port)
    )
    assert again.kafka_port != taken


def test_a_configured_port_that_is_taken_is_an_error(taken: int) -> None:
    """The sentence names the port and the setting."""
    with pytest.raises(PortTaken, match=f"port {taken} .*TACHOGRAPH_LOCAL__CLICKHOUSE_TCP_PORT"):
        choose_ports(LocalSettings(clickhouse_tcp_port=taken))


def test_the_same_port_for_two_servers_is_an_error() -> None:
    """Better now than in a server's log."""
    port = choose_ports(LocalSettings()).kafka_port
    with pytest.raises(PortTaken, match="TACHOGRAPH_LOCAL__CONTROLLER_PORT"):
        choose_ports(LocalSettings(kafka_port=port, controller_port=port))
