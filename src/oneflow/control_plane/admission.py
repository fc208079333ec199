"""Admission of processes to a job: only processes that know its secret, whoever else connects.

Agent and coordinator prove to each other that they know the secret without sending it: each sends a
random challenge, and the other side answers with a keyed hash (HMAC) of both challenges and of its
message.
"""

from __future__ import annotations

import contextlib
import errno
import hmac
import json
import os
import secrets
import selectors
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from oneflow.base.environment import SECRET
from oneflow.control_plane.channel import Channel

# An agent answers at once; a silent connection is closed after this.
_SECONDS_TO_ANSWER = 10.0
# Connections that may be unvalidated at the same time, in addition to those of the job's processes.
_MAX_PENDING = 256
_WRONG_SECRET = (
    f"the job that uses this port has another secret: set {SECRET.name} to the same text on all "
    "machines, or choose another port"
)
# The identity of a process is short.
_MAX_IDENTITY_BYTES = 2**14


def compute_digest(secret: str, side: str, challenges: tuple[str, str], content: Any = None) -> str:
    """Return the keyed hash that proves that `side` knows the secret and sent `content`.

    Args:
        secret: the secret of the job; empty if it has none.
        side: ``"coordinator"`` or ``"agent"``.
        challenges: the random texts, the coordinator's first.
        content: the side's message, as JSON can represent it.
    """
    text = json.dumps([side, *challenges, content], sort_keys=True)
    return hmac.new(os.fsencode(secret), text.encode(), "sha256").hexdigest()


def new_challenge() -> str:
    """Return a random text."""
    return secrets.token_hex(16)


def request_admission(
    channel: Channel, recv: Callable[[], dict[str, Any]], secret: str, identity: dict[str, Any]
) -> str:
    """Ask the coordinator to admit this process to the job.

    Args:
        channel: the connection to the coordinator.
        recv: returns the next message of the channel, and waits for it.
        secret: the secret of the job.
        identity: rank, world size, job, process id and host of this process.

    Returns:
        The reason why the coordinator rejects this process; empty if it is admitted.

    Raises:
        ValueError: the other end is no coordinator, or the coordinator of another job.
    """
    challenges = str(recv().get("challenge")), new_challenge()
    digest = compute_digest(secret, "agent", challenges, identity)
    channel.send(identity=identity, challenge=challenges[1], digest=digest)
    answer = recv()
    if "rejected" in answer:
        return str(answer["rejected"])
    if not _is_equal(answer.get("admitted"), compute_digest(secret, "coordinator", challenges)):
        raise ValueError("it does not know the secret of this job")
    return ""


def _is_equal(digest: Any, expected: str) -> bool:
    """Compare digests in a time that does not depend on where they differ."""
    return hmac.compare_digest(str(digest).encode(errors="replace"), expected.encode())


@dataclass(frozen=True)
class ValidatedPeer:
    """A process that has proved that it knows the secret.

    Attributes:
        channel: the connection to it.
        identity: what the process says about itself.
        challenges: the coordinator's and the process's, for `AdmissionControl.admit`.
    """

    channel: Channel
    identity: dict[str, Any]
    challenges: tuple[str, str]


@dataclass(frozen=True)
class _PendingPeer:
    channel: Channel
    challenge: str
    deadline: float


class AdmissionControl:
    """The coordinator's side of admission; it validates all connections concurrently.

    Args:
        server: the socket that processes connect to.
        secret: the secret that they must know.
        expected: the number of processes of the job.

    Attributes:
        rejected: the number of connections with a wrong secret.
    """

    def __init__(self, server: socket.socket, secret: str, expected: int) -> None:
        self.rejected = 0
        self._server = server
        self._secret = secret
        self._max_pending = _MAX_PENDING + expected
        # The peers by file descriptor, in the order in which they connected.
        self._pending: dict[int, _PendingPeer] = {}
        self._selector = selectors.DefaultSelector()
        server.setblocking(False)
        self._selector.register(server, selectors.EVENT_READ, None)

    def poll(self, timeout: float) -> list[ValidatedPeer]:
        """Return the processes that have just proved that they know the secret.

        Args:
            timeout: seconds to wait for any message.
        """
        validated = []
        for key, _ in self._selector.select(timeout):
            if key.data is None:
                self._accept()
            elif key.fd in self._pending:
                peer = self._validate(key.fd)
                if peer is not None:
                    validated.append(peer)
        now = time.monotonic()
        for fd in [fd for fd, connection in self._pending.items() if connection.deadline < now]:
            self._close_pending(fd)
        return validated

    def admit(self, peer: ValidatedPeer) -> None:
        """Admit a process to the job, and prove to it that this is the coordinator."""
        peer.channel.max_line_bytes = Channel.max_line_bytes
        with contextlib.suppress(OSError):
            digest = compute_digest(self._secret, "coordinator", peer.challenges)
            peer.channel.send(admitted=digest)

    def close(self) -> None:
        """Close all connections that are not admitted, and accept no more."""
        for fd in list(self._pending):
            self._close_pending(fd)
        self._selector.close()

    def _accept(self) -> None:
        try:
            connection, _ = self._server.accept()
        except OSError as error:
            # No file descriptor is free: the oldest unvalidated connection frees one.
            if error.errno in (errno.EMFILE, errno.ENFILE) and self._pending:
                self._close_pending(next(iter(self._pending)))
            return
        if len(self._pending) >= self._max_pending:
            self._close_pending(next(iter(self._pending)))
        channel = Channel(connection)
        channel.max_line_bytes = _MAX_IDENTITY_BYTES
        pending = _PendingPeer(channel, new_challenge(), time.monotonic() + _SECONDS_TO_ANSWER)
        fd = channel.fileno()
        self._pending[fd] = pending
        self._selector.register(connection, selectors.EVENT_READ, fd)
        try:
            channel.send(challenge=pending.challenge)
        except OSError:
            self._close_pending(fd)

    def _validate(self, fd: int) -> ValidatedPeer | None:
        pending = self._pending[fd]
        try:
            messages = pending.channel.recv(0.0)
            if not messages:
                return None
            (message,) = messages
            identity = message["identity"]
            challenges = pending.challenge, str(message["challenge"])
            expected = compute_digest(self._secret, "agent", challenges, identity)
        except (EOFError, KeyError, ValueError, RecursionError):
            self._close_pending(fd)
            return None
        if not _is_equal(message.get("digest"), expected) or not isinstance(identity, dict):
            self.rejected += 1
            reject(pending.channel, _WRONG_SECRET)
            self._close_pending(fd)
            return None
        del self._pending[fd]
        self._selector.unregister(pending.channel)
        return ValidatedPeer(pending.channel, identity, challenges)

    def _close_pending(self, fd: int) -> None:
        channel = self._pending.pop(fd).channel
        self._selector.unregister(channel)
        channel.close()


def reject(channel: Channel, reason: str) -> None:
    """Tell a process why it is not admitted."""
    with contextlib.suppress(OSError):
        channel.send(rejected=reason)
