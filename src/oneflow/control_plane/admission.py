"""Letting the processes of a job in: those that know its secret, however many others knock.

Both sides show that they know the secret without sending it: each sends a random number, and the
other one answers with a keyed hash (HMAC) of both numbers and what it says of itself.
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

# Who is one of us answers at once; whoever is silent is left alone after this.
_SECONDS_TO_ANSWER = 10.0
# How many may be about to answer at the same time, besides the processes of the job.
_MAX_PENDING = 256
_WRONG_SECRET = (
    f"it does not know the secret of the job that uses this port: set {SECRET.name} to the same "
    "text on all machines, or choose another port"
)
# What a process says of itself is short.
_LONGEST_HELLO = 2**14


def proof_of(secret: str, side: str, challenges: tuple[str, str], content: Any = None) -> str:
    """What shows that one side knows the secret and has said `content`.

    Args:
        secret: the job's; empty if it has none.
        side: ``"hub"`` or ``"member"``.
        challenges: the random numbers, the hub's first.
        content: what the side says of itself, as JSON can hold it.
    """
    text = json.dumps([side, *challenges, content], sort_keys=True)
    return hmac.new(os.fsencode(secret), text.encode(), "sha256").hexdigest()


def new_challenge() -> str:
    """A random number, as text."""
    return secrets.token_hex(16)


def introduce(
    channel: Channel, hear: Callable[[], dict[str, Any]], secret: str, content: dict[str, Any]
) -> str:
    """Introduce a process to the hub.

    Args:
        channel: the connection with it.
        hear: waits for the next object that comes through it.
        secret: the job's.
        content: what the process says of itself.

    Returns:
        Why the hub does not want this process, or nothing.

    Raises:
        ValueError: what answers is no hub, or not that of this job.
    """
    challenges = str(hear().get("challenge")), new_challenge()
    proof = proof_of(secret, "member", challenges, content)
    channel.send(introduction=content, challenge=challenges[1], proof=proof)
    answer = hear()
    if "refused" in answer:
        return str(answer["refused"])
    if not _is_same(answer.get("welcome"), proof_of(secret, "hub", challenges)):
        raise ValueError("what answers does not know the secret of this job")
    return ""


def _is_same(given: Any, expected: str) -> bool:
    """Whether a proof is right; takes as long for any wrong one."""
    return hmac.compare_digest(str(given).encode(errors="replace"), expected.encode())


@dataclass(frozen=True)
class AuthenticatedPeer:
    """A process that has shown that it knows the secret.

    Attributes:
        channel: the connection with it.
        introduction: what it says of itself.
        challenges: of both sides, for `welcome`.
    """

    channel: Channel
    introduction: dict[str, Any]
    challenges: tuple[str, str]


@dataclass(frozen=True)
class _PendingPeer:
    channel: Channel
    challenge: str
    deadline: float


class Authenticator:
    """Where processes knock; all of them are listened to side by side.

    Args:
        listener: where they connect.
        secret: what they must know.
        expected: how many belong to the job.

    Attributes:
        refused: how many did not know the secret.
    """

    def __init__(self, listener: socket.socket, secret: str, expected: int) -> None:
        self.refused = 0
        self._listener = listener
        self._secret = secret
        self._most = _MAX_PENDING + expected
        # In the order in which they came.
        self._pending: dict[int, _PendingPeer] = {}
        self._selector = selectors.DefaultSelector()
        listener.setblocking(False)
        self._selector.register(listener, selectors.EVENT_READ, None)

    def authenticated_peers(self, timeout: float) -> list[AuthenticatedPeer]:
        """Those who have shown that they belong here; waits at most `timeout` seconds."""
        found = []
        for key, _ in self._selector.select(timeout):
            if key.data is None:
                self._accept()
            elif key.fd in self._pending:
                peer = self._hear(key.fd)
                if peer is not None:
                    found.append(peer)
        now = time.monotonic()
        for number in [n for n, each in self._pending.items() if each.deadline < now]:
            self._disconnect(number)
        return found

    def welcome(self, peer: AuthenticatedPeer) -> None:
        """Let a process in."""
        peer.channel.longest = Channel.longest
        with contextlib.suppress(OSError):
            peer.channel.send(welcome=proof_of(self._secret, "hub", peer.challenges))

    def close(self) -> None:
        """Listen to nobody any more who is not in."""
        for number in list(self._pending):
            self._disconnect(number)
        self._selector.close()

    def _accept(self) -> None:
        try:
            connection, _ = self._listener.accept()
        except OSError as error:
            # Whoever came first and has not answered makes room.
            if error.errno in (errno.EMFILE, errno.ENFILE) and self._pending:
                self._disconnect(next(iter(self._pending)))
            return
        if len(self._pending) >= self._most:
            self._disconnect(next(iter(self._pending)))
        channel = Channel(connection)
        channel.longest = _LONGEST_HELLO
        pending = _PendingPeer(channel, new_challenge(), time.monotonic() + _SECONDS_TO_ANSWER)
        number = channel.fileno()
        self._pending[number] = pending
        self._selector.register(connection, selectors.EVENT_READ, number)
        try:
            channel.send(challenge=pending.challenge)
        except OSError:
            self._disconnect(number)

    def _hear(self, number: int) -> AuthenticatedPeer | None:
        pending = self._pending[number]
        try:
            answers = pending.channel.receive(0.0)
            if not answers:
                return None
            (answer,) = answers
            introduction = answer["introduction"]
            challenges = pending.challenge, str(answer["challenge"])
            proof = proof_of(self._secret, "member", challenges, introduction)
        except (EOFError, KeyError, ValueError, RecursionError):
            self._disconnect(number)
            return None
        if not _is_same(answer.get("proof"), proof) or not isinstance(introduction, dict):
            self.refused += 1
            refuse(pending.channel, _WRONG_SECRET)
            self._disconnect(number)
            return None
        del self._pending[number]
        self._selector.unregister(pending.channel)
        return AuthenticatedPeer(pending.channel, introduction, challenges)

    def _disconnect(self, number: int) -> None:
        channel = self._pending.pop(number).channel
        self._selector.unregister(channel)
        channel.close()


def refuse(channel: Channel, reason: str) -> None:
    """Say why a process is not let in."""
    with contextlib.suppress(OSError):
        channel.send(refused=reason)
