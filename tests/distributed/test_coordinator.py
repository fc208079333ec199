"""The coordinator, which receives messages in the order that a test chooses."""

import json
import socket
import threading

import pytest

from oneflow.control_plane import admission
from oneflow.control_plane.admission import compute_digest, new_challenge, request_admission
from oneflow.control_plane.agent import Agent
from oneflow.control_plane.channel import Channel
from oneflow.control_plane.coordinator import Coordinator
from oneflow.control_plane.job import Job


def started(world_size: int, secret: str = "") -> tuple[Coordinator, tuple[str, int]]:
    """Return a coordinator and its address."""
    server = socket.create_server(("127.0.0.1", 0), backlog=4096)
    return Coordinator(server, Job(world_size, "", secret), 0), server.getsockname()


def joined(
    address: tuple[str, int], rank: int, world_size: int, secret: str = ""
) -> tuple[Channel, list]:
    """Return the connection of an admitted process, and messages that have arrived since."""
    channel = Channel(socket.create_connection(address))
    inbox: list = []
    identity = {"rank": rank, "world_size": world_size, "job": "", "process": 1, "host": "here"}

    def recv() -> dict:
        inbox.extend(messages(channel, 1 - len(inbox)))
        return inbox.pop(0)

    assert request_admission(channel, recv, secret, identity) == ""
    return channel, inbox


def messages(channel: Channel, count: int) -> list:
    """Return the first messages that arrive."""
    found: list = []
    while len(found) < count:
        more = channel.recv(20.0)
        assert more
        found += more
    return found


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_world_sizes_that_differ_abort_all_ranks(order):
    coordinator, address = started(2)
    # The coordinator admits them in this order, and tells rank 0 when the other one has gone.
    admitted = {rank: joined(address, rank, (2, 3)[rank]) for rank in order}
    for channel, inbox in (admitted[1], admitted[0]):
        (message,) = inbox or messages(channel, 1)
        assert "rank 1 was started as one of 3 processes" in message["abort"]
        channel.close()
    ended(coordinator)


def ended(coordinator: Coordinator) -> None:
    """Wait for the coordinator's end and close its connections; elsewhere its process does."""
    coordinator.thread.join(10.0)
    assert not coordinator.thread.is_alive()
    coordinator._selector.close()
    for peer in coordinator._peers.values():
        peer.channel.close()


def test_barriers():
    coordinator, address = started(3)
    channels = []
    for channel, inbox in [joined(address, rank, 3) for rank in range(3)]:
        (start,) = inbox or messages(channel, 1)
        assert start["start"]
        channels.append(channel)
    for rank, barrier in ((0, ["0,1,2", 1]), (0, ["0,2", 1]), (1, ["0,1,2", 1])):
        channels[rank].send(barrier=barrier)
    assert channels[0].recv(0.5) == []
    channels[2].send(barrier=["0,1,2", 1])
    for channel in channels:
        assert messages(channel, 1) == [{"release": ["0,1,2", 1]}]
    channels[2].send(barrier=["0,2", 1])
    for rank in (0, 2):
        assert messages(channels[rank], 1) == [{"release": ["0,2", 1]}]
    for channel in channels:
        channel.send(progress={}, finished=True)
    for channel in channels:
        assert messages(channel, 1) == [{"shutdown": True}]
        channel.close()
    ended(coordinator)


# --- processes that do not belong to the job


def request(rank: object, secret: str, challenge: str) -> bytes:
    """Return a request for admission with that secret."""
    identity = {"rank": rank, "world_size": 2, "job": "", "process": 1, "host": "here"}
    own = new_challenge()
    digest = compute_digest(secret, "agent", (challenge, own), identity)
    return json.dumps({"identity": identity, "challenge": own, "digest": digest}).encode() + b"\n"


GARBAGE = {
    "web": lambda challenge: b"GET / HTTP/1.1\r\nHost: here\r\n\r\n",
    "before": lambda challenge: b'{"rank": 1, "world_size": 2, "job": "", "process": 1}\n',
    "wrong secret": lambda challenge: request(1, "guessed", challenge),
    "no secret": lambda challenge: request(1, "", challenge),
    "another challenge": lambda challenge: request(1, "secret", "0" * 32),
    "no digest": lambda challenge: b'{"identity": {"rank": 1}, "challenge": "1"}\n',
    "no text": lambda challenge: b'{"identity": 1, "challenge": "\\ud800", "digest": "\\ud800"}\n',
    "nested": lambda challenge: b"[" * 10_000 + b"\n",
    "endless": lambda challenge: b"[" * 100_000,
    "infinite rank": lambda challenge: request(float("inf"), "secret", challenge),
    "binary": lambda challenge: bytes(range(256)) + b"\n",
    "lines": lambda challenge: b"{}\n{}\n",
    "empty": lambda challenge: b"\n",
}


def test_only_processes_that_know_the_secret_are_admitted(monkeypatch):
    monkeypatch.setattr(admission, "_MAX_PENDING", 20)
    coordinator, address = started(2, "secret")
    first, _ = joined(address, 0, 2, "secret")
    # Silent connections, more than may be pending, and some that send something wrong.
    silent = [socket.create_connection(address) for _ in range(100)]
    for request_of in GARBAGE.values():
        stranger = Channel(socket.create_connection(address))
        (challenge,) = messages(stranger, 1)
        stranger.connection.sendall(request_of(challenge["challenge"]))
        silent.append(stranger.connection)
    second, inbox = joined(address, 1, 2, "secret")
    for channel, found in ((first, []), (second, inbox)):
        (start,) = found or messages(channel, 1)
        assert start["start"]
        channel.send(progress={}, finished=True)
    for channel in (first, second):
        assert messages(channel, 1) == [{"shutdown": True}]
        channel.close()
    ended(coordinator)
    for connection in silent:
        connection.close()


def test_a_process_with_a_wrong_secret():
    coordinator, address = started(2, "secret")
    with pytest.raises(
        RuntimeError, match=r"rank 1 cannot join the job .* set ONEFLOW_JOB_SECRET to the"
    ):
        Agent(address, 1, Job(2, "", "another"), 10.0)
    assert coordinator._admission.rejected == 1
    for channel, inbox in [joined(address, rank, 2, "secret") for rank in range(2)]:
        assert inbox or messages(channel, 1)
        channel.close()
    ended(coordinator)


def test_an_agent_tries_again_when_its_connection_is_closed():
    server = socket.create_server(("127.0.0.1", 0))
    address = server.getsockname()
    found: list = []
    joining = threading.Thread(target=lambda: found.append(Agent(address, 0, Job(2, ""), 20.0)))
    joining.start()
    server.accept()[0].close()
    coordinator = Coordinator(server, Job(2, ""), 0)
    joining.join()
    found[0]._channel.close()
    ended(coordinator)


@pytest.mark.parametrize(
    "answer", [{"admitted": True}, {"admitted": compute_digest("", "coordinator", ("1", "2"))}, {}]
)
def test_a_coordinator_with_a_wrong_secret(answer):
    def run() -> None:
        channel = Channel(server.accept()[0])
        channel.send(challenge="1")
        messages(channel, 1)
        channel.send(**answer)
        channel.close()

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=run)
        thread.start()
        with pytest.raises(RuntimeError, match="does not know the secret of this job"):
            Agent(server.getsockname(), 1, Job(2, "", "secret"), 10.0)
        thread.join()
