"""The hub, spoken to in the order that a test chooses."""

import socket

import pytest

from oneflow.base.control.channel import Channel
from oneflow.base.control.hub import Hub, Job


def joined(address: tuple[str, int], rank: int, world_size: int) -> Channel:
    """The connection of a process that wants to join."""
    channel = Channel(socket.create_connection(address))
    channel.send(rank=rank, world_size=world_size, job="", process=1, host="here")
    return channel


def messages(channel: Channel, count: int) -> list:
    """The first messages that come."""
    found: list = []
    while len(found) < count:
        more = channel.receive(20.0)
        assert more
        found += more
    return found


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_all_hear_that_world_sizes_differ(order):
    listener = socket.create_server(("127.0.0.1", 0))
    address = listener.getsockname()
    hub = Hub(listener, Job(2, ""), 0)
    # The hub lets them in in this order.
    for channel in [joined(address, rank, (2, 3)[rank]) for rank in order]:
        welcome, end = messages(channel, 2)
        assert welcome == {"welcome": True}
        assert "rank 1 was started as one of 3 processes" in end["verdict"]
        channel.close()
    hub.thread.join(10.0)
    assert not hub.thread.is_alive()
    # Elsewhere its process ends with it.
    hub._selector.close()
    for peer in hub._peers.values():
        peer.channel.close()
