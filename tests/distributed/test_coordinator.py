"""The hub, spoken to in the order that a test chooses."""

import json
import socket
import threading

import pytest

from oneflow.control_plane import admission
from oneflow.control_plane.admission import introduce, new_challenge, proof_of
from oneflow.control_plane.agent import Member
from oneflow.control_plane.channel import Channel
from oneflow.control_plane.coordinator import Hub
from oneflow.control_plane.job import Job


def started(world_size: int, secret: str = "") -> tuple[Hub, tuple[str, int]]:
    """A hub and its address."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=4096)
    return Hub(listener, Job(world_size, "", secret), 0), listener.getsockname()


def joined(
    address: tuple[str, int], rank: int, world_size: int, secret: str = ""
) -> tuple[Channel, list]:
    """The connection of a process that has joined, and what has come after the welcome."""
    channel = Channel(socket.create_connection(address))
    inbox: list = []
    content = {"rank": rank, "world_size": world_size, "job": "", "process": 1, "host": "here"}

    def hear() -> dict:
        inbox.extend(messages(channel, 1 - len(inbox)))
        return inbox.pop(0)

    assert introduce(channel, hear, secret, content) == ""
    return channel, inbox


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
    hub, address = started(2)
    # The hub lets them in in this order.
    for channel, inbox in [joined(address, rank, (2, 3)[rank]) for rank in order]:
        (end,) = inbox or messages(channel, 1)
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
    hub, address = started(3)
    channels = []
    for channel, inbox in [joined(address, rank, 3) for rank in range(3)]:
        (start,) = inbox or messages(channel, 1)
        assert start["start"]
        channels.append(channel)
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


# --- who does not belong to the job


def claims(rank: object, secret: str, challenge: str) -> bytes:
    """An introduction of whoever knows that secret."""
    content = {"rank": rank, "world_size": 2, "job": "", "process": 1, "host": "here"}
    own = new_challenge()
    proof = proof_of(secret, "member", (challenge, own), content)
    return json.dumps({"introduction": content, "challenge": own, "proof": proof}).encode() + b"\n"


GARBAGE = {
    "web": lambda challenge: b"GET / HTTP/1.1\r\nHost: here\r\n\r\n",
    "before": lambda challenge: b'{"rank": 1, "world_size": 2, "job": "", "process": 1}\n',
    "wrong secret": lambda challenge: claims(1, "guessed", challenge),
    "no secret": lambda challenge: claims(1, "", challenge),
    "another challenge": lambda challenge: claims(1, "secret", "0" * 32),
    "no proof": lambda challenge: b'{"introduction": {"rank": 1}, "challenge": "1"}\n',
    "no text": lambda challenge: (
        b'{"introduction": 1, "challenge": "\\ud800", "proof": "\\ud800"}\n'
    ),
    "nested": lambda challenge: b"[" * 10_000 + b"\n",
    "endless": lambda challenge: b"[" * 100_000,
    "infinite rank": lambda challenge: claims(float("inf"), "secret", challenge),
    "binary": lambda challenge: bytes(range(256)) + b"\n",
    "lines": lambda challenge: b"{}\n{}\n",
    "empty": lambda challenge: b"\n",
}


def test_only_those_who_know_the_secret_get_in(monkeypatch):
    monkeypatch.setattr(admission, "_MAX_PENDING", 20)
    hub, address = started(2, "secret")
    first, _ = joined(address, 0, 2, "secret")
    # Those who say nothing, more than are listened to, and those who say something wrong.
    silent = [socket.create_connection(address) for _ in range(100)]
    for say in GARBAGE.values():
        stranger = Channel(socket.create_connection(address))
        (challenge,) = messages(stranger, 1)
        stranger.connection.sendall(say(challenge["challenge"]))
        silent.append(stranger.connection)
    second, inbox = joined(address, 1, 2, "secret")
    for channel, found in ((first, []), (second, inbox)):
        (start,) = found or messages(channel, 1)
        assert start["start"]
        channel.send(record={}, leaving=True)
    for channel in (first, second):
        assert messages(channel, 1) == [{"leave": True}]
        channel.close()
    ended(hub)
    for connection in silent:
        connection.close()


def test_a_process_that_does_not_know_the_secret():
    hub, address = started(2, "secret")
    with pytest.raises(RuntimeError, match=r"rank 1 cannot join .* set ONEFLOW_JOB_SECRET to the"):
        Member(address, 1, Job(2, "", "another"), 10.0)
    assert hub._authenticator.refused == 1
    for channel, inbox in [joined(address, rank, 2, "secret") for rank in range(2)]:
        assert inbox or messages(channel, 1)
        channel.close()
    ended(hub)


def test_a_process_that_the_hub_has_no_time_for_tries_again():
    listener = socket.create_server(("127.0.0.1", 0))
    address = listener.getsockname()
    found: list = []
    joining = threading.Thread(target=lambda: found.append(Member(address, 0, Job(2, ""), 20.0)))
    joining.start()
    listener.accept()[0].close()
    hub = Hub(listener, Job(2, ""), 0)
    joining.join()
    found[0]._channel.close()
    ended(hub)


@pytest.mark.parametrize(
    "welcome", [{"welcome": True}, {"welcome": proof_of("", "hub", ("1", "2"))}, {}]
)
def test_a_hub_that_does_not_know_the_secret(welcome):
    def answer() -> None:
        channel = Channel(listener.accept()[0])
        channel.send(challenge="1")
        messages(channel, 1)
        channel.send(**welcome)
        channel.close()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=answer)
        thread.start()
        with pytest.raises(RuntimeError, match="does not know the secret of this job"):
            Member(listener.getsockname(), 1, Job(2, "", "secret"), 10.0)
        thread.join()
