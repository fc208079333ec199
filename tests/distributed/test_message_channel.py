"""Messages for which there is no memory, and those that are lost: the receiver gets an error."""

import socket

import numpy as np
import pytest

from oneflow.base.errors import OutOfMemoryError
from oneflow.control_plane import key_value_store, message_channel
from oneflow.control_plane.message_channel import MessageChannel

ADDRESS = (0, 1), "rows"
SECONDS = 30.0


@pytest.fixture
def channel(monkeypatch) -> MessageChannel:
    """A channel that sends to itself, as rank 0."""
    store: dict[str, str] = {}
    monkeypatch.setattr(key_value_store, "put", store.__setitem__)
    monkeypatch.setattr(key_value_store, "get", lambda key, seconds: store[key])
    monkeypatch.setattr(message_channel, "_local_host", lambda: "127.0.0.1")
    return MessageChannel()


def test_messages_after_one_without_memory_arrive(channel, monkeypatch) -> None:
    empty = np.empty

    def empty_below(shape, dtype):
        if np.prod(shape) > 100_000:
            raise MemoryError("no room")
        return empty(shape, dtype)

    monkeypatch.setattr(message_channel.np, "empty", empty_below)
    rows = np.arange(6.0).reshape(2, 3)
    for array in (rows, np.zeros(100_001), rows + 1):
        channel.send(0, ADDRESS, array)
    np.testing.assert_array_equal(channel.recv((0,), ADDRESS, SECONDS)[1], rows)
    with pytest.raises(OutOfMemoryError, match="no room"):
        channel.recv((0,), ADDRESS, SECONDS)
    np.testing.assert_array_equal(channel.recv((0,), ADDRESS, SECONDS)[1], rows + 1)


def test_a_connection_that_ends_within_a_message_ends_the_wait(channel, monkeypatch) -> None:
    send_all = socket.socket.sendall

    def send_half(connection, data):
        send_all(connection, memoryview(data)[: len(data) // 2] if len(data) == 48 else data)
        if len(data) == 48:
            connection.close()
            raise ConnectionResetError

    monkeypatch.setattr(message_channel.socket.socket, "sendall", send_half)
    handle = channel.send(0, ADDRESS, np.zeros(6))
    with pytest.raises(ConnectionError, match="rank 0 ended within a message"):
        channel.recv((0,), ADDRESS, SECONDS)
    assert handle.done.wait(SECONDS)
    assert isinstance(handle.error, ConnectionResetError)
    assert channel.has_message((0,), ADDRESS)
