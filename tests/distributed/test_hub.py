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
    ended(hub)


def ended(hub: Hub) -> None:
    """Wait for the hub's end and clear up; elsewhere its process ends with it."""
    hub.thread.join(10.0)
    assert not hub.thread.is_alive()
    hub._selector.close()
    for peer in hub._peers.values():
        peer.channel.close()


def test_ranks_meet_when_all_have_come():
    listener = socket.create_server(("127.0.0.1", 0))
    hub = Hub(listener, Job(3, ""), 0)
    channels = [joined(listener.getsockname(), rank, 3) for rank in range(3)]
    for channel in channels:
        welcome, start = messages(channel, 2)
        assert welcome == {"welcome": True}
        assert start["start"]
    for rank, place in ((0, ["0,1,2", 1]), (0, ["0,2", 1]), (1, ["0,1,2", 1])):
        channels[rank].send(meet=place)
    assert channels[0].receive(0.5) == []
    channels[2].send(meet=["0,1,2", 1])
    for channel in channels:
        assert messages(channel, 1) == [{"met": ["0,1,2", 1]}]
    channels[2].send(meet=["0,2", 1])
    for rank in (0, 2):
        assert messages(channels[rank], 1) == [{"met": ["0,2", 1]}]
    for channel in channels:
        channel.send(record={}, leaving=True)
    for channel in channels:
        assert messages(channel, 1) == [{"leave": True}]
        channel.close()
    ended(hub)
