"""Messages for which there is no memory, and those that are lost: the receiver gets an error."""

import atexit
import concurrent.futures
import socket
import sys
from collections.abc import Iterator

import numpy as np
import pytest

from oneflow.base.errors import OutOfMemoryError
from oneflow.control_plane import flow_control, key_value_store, message_channel
from oneflow.control_plane.message_channel import MessageChannel
from tests.distributed.test_faults import wait_until

ADDRESS = (0, 1), "rows"
SECONDS = 30.0
# Bytes that a connection begins with.
TOKEN_BYTES = 36


@pytest.fixture
def channel(monkeypatch) -> Iterator[MessageChannel]:
    """A channel that sends to itself, as rank 0."""
    store: dict[str, str] = {}
    monkeypatch.setattr(key_value_store, "put", store.__setitem__)
    monkeypatch.setattr(key_value_store, "get", lambda key, seconds: store[key])
    monkeypatch.setattr(message_channel, "_local_host", lambda: "127.0.0.1")
    channel = MessageChannel()
    yield channel
    atexit.unregister(channel._end)


def break_connections(monkeypatch, share: float) -> None:
    """Let connections break within the next message, when that share of it has been sent."""
    send_all = socket.socket.sendall

    def send_a_share(connection, data):
        if len(data) == TOKEN_BYTES:
            return send_all(connection, data)
        send_all(connection, memoryview(data)[: int(share * len(data))])
        connection.close()
        raise BrokenPipeError("the test broke it")

    monkeypatch.setattr(message_channel.socket.socket, "sendall", send_a_share)


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
    break_connections(monkeypatch, 0.5)
    handle = channel.send(0, ADDRESS, np.zeros(6))
    assert handle.done.wait(SECONDS)
    assert isinstance(handle.error, BrokenPipeError)
    with pytest.raises(ConnectionError, match="rank 0 ended within a message"):
        channel.recv((0,), ((2, 3), "rows"), SECONDS)
    assert channel.is_ready(channel.request((0,), ADDRESS))


@pytest.mark.parametrize("size", [6, 20_000], ids=["small", "large"])
def test_after_a_lost_message_nothing_is_sent_in_its_place(channel, monkeypatch, size) -> None:
    rows = np.arange(6.0)
    channel.send(0, ADDRESS, rows)
    channel.recv((0,), ADDRESS, SECONDS)
    lost = "a message to rank 0 could not be sent: .*the test broke it"
    with monkeypatch.context() as patch:
        break_connections(patch, 0.0)
        with concurrent.futures.ThreadPoolExecutor() as pool:
            waiting = pool.submit(channel.recv, (0,), ADDRESS, SECONDS)
            handle = pool.submit(channel.send, 0, ADDRESS, np.zeros(size)).result()
            with pytest.raises(ConnectionError, match=lost):
                waiting.result()
    assert handle.done.wait(SECONDS)
    with pytest.raises(ConnectionError, match=lost):
        channel.send(0, ADDRESS, rows)
    with pytest.raises(TimeoutError):
        channel.recv((0,), ((2, 3), "of others"), 0.01)


def test_messages_of_all_sizes_arrive_in_order(channel) -> None:
    """Small ones are sent at once by all threads but the main one, unless others wait."""
    arrays = [np.arange(size) for size in (0, 5, 70_000, 1, 300_000, 2, 3)]
    channel.send(0, ADDRESS, arrays[0])
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        for array in arrays[1:]:
            pool.submit(channel.send, 0, ADDRESS, array)
    for array in arrays:
        np.testing.assert_array_equal(channel.recv((0,), ADDRESS, SECONDS)[1], array)


@pytest.mark.parametrize("fails_late", [False, True])
def test_a_message_that_is_lost_before_the_end_is_an_error(
    channel, monkeypatch, fails_late
) -> None:
    """The receiver may wait for it, while this process waits for all others to finish."""
    errors: list[BaseException] = []
    monkeypatch.setattr(sys, "excepthook", lambda kind, error, trace: errors.append(error))
    break_connections(monkeypatch, 0.0)
    if fails_late:
        channel._end()
    handle = channel.send(0, ADDRESS, np.zeros(6))
    assert handle.done.wait(SECONDS)
    if not fails_late:
        channel._end()
    wait_until(lambda: errors)
    assert "a message to rank 0 could not be sent" in str(errors)


@pytest.fixture
def window(monkeypatch) -> int:
    """Windows of two and a half messages of `ROWS`."""
    monkeypatch.setattr(flow_control, "WINDOW_BYTES", 5 * ROWS.nbytes // 2)
    monkeypatch.setattr(flow_control, "_RECEIPT_BYTES", ROWS.nbytes // 2)
    return flow_control.WINDOW_BYTES


ROWS = np.arange(10_000.0)


def send_one_way(channel, tag, count):
    return [channel.send(0, ((0, 1), tag), ROWS, is_one_way=True) for _ in range(count)]


def test_who_sends_waits_for_what_was_not_taken(channel, window) -> None:
    *_, third, fourth = send_one_way(channel, 7, 4)
    third.await_space(0.0)
    with pytest.raises(TimeoutError):
        fourth.await_space(0.05)
    assert not fourth.is_over()
    channel.recv((0,), ((0, 1), 7), SECONDS)
    fourth.await_space(SECONDS)
    assert fourth.is_over()


def test_each_tag_has_a_window_and_the_operations_of_a_group_have_one(channel, window) -> None:
    send_one_way(channel, 7, 4)
    send_one_way(channel, 8, 1)[0].await_space(0.0)
    channel.await_space((0, 1))
    for description in ("broadcast", "scatter"):
        send_one_way(channel, description, 2)
    assert not channel.has_space((0, 1))
    with concurrent.futures.ThreadPoolExecutor() as pool:
        waiting = pool.submit(channel.await_space, (0, 1))
        with pytest.raises(concurrent.futures.TimeoutError):
            waiting.result(0.05)
        channel.recv((0,), ((0, 1), "scatter"), SECONDS)
        channel.recv((0,), ((0, 1), "scatter"), SECONDS)
        waiting.result(SECONDS)


def test_what_was_asked_for_needs_no_room(channel, window) -> None:
    """Two processes may wait for each other's sending before they wait for what they asked for."""
    requests = [channel.request((0,), ((0, 1), 7)) for _ in range(6)]
    send_one_way(channel, 7, 6)[-1].await_space(SECONDS)
    for request in requests:
        np.testing.assert_array_equal(channel.take(request, SECONDS)[1], ROWS)
    assert not channel._requests


def test_requests_get_messages_in_their_order(channel) -> None:
    first = channel.request((0, 1), ADDRESS)
    with pytest.raises(TimeoutError):
        channel.recv((0,), ADDRESS, 0.0)
    for number in range(3):
        channel.send(0, ADDRESS, np.array(number))
    assert [channel.recv((0,), ADDRESS, SECONDS)[1] for _ in range(2)] == [1, 2]
    assert channel.take(first, SECONDS)[1] == 0


@pytest.mark.parametrize("end", ["its end", "a loss"])
def test_nobody_waits_for_a_receiver_that_takes_nothing_more(
    channel, window, monkeypatch, end
) -> None:
    last = send_one_way(channel, 7, 5)[-1]
    assert last.done.wait(SECONDS)
    assert not last.is_over()
    if end == "its end":
        channel._end()
        send_one_way(channel, 7, 5)[-1].await_space(SECONDS)
        return
    break_connections(monkeypatch, 0.0)
    send_one_way(channel, 7, 1)
    with pytest.raises(ConnectionError):
        last.await_space(SECONDS)
