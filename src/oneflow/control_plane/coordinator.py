"""The hub: a thread in rank 0 to which all processes are connected, rank 0 too."""

from __future__ import annotations

import contextlib
import os
import secrets
import selectors
import socket
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from oneflow.base import environment
from oneflow.control_plane.admission import AuthenticatedPeer, Authenticator, refuse
from oneflow.control_plane.channel import Channel
from oneflow.control_plane.diagnosis import Measurement, Report, Verdict, find_mismatch, members_of
from oneflow.control_plane.hang_detection import Watch
from oneflow.control_plane.job import Job
from oneflow.control_plane.root_cause import blames_others

# How often the hub looks at the clock.
_TICK = 0.25
# A process may fail because another has died: wait that long for word of it.
_SECONDS_FOR_THE_CAUSE = 2.0
_SECONDS_UNTIL_WAITING_IS_SAID = 20.0
_SECONDS_FOR_RANK_0 = 10.0


@dataclass
class _Peer:
    channel: Channel
    host: str
    process: int
    report: Report = field(default_factory=Report)
    asked: bool = False
    gone: bool = False


class Hub:
    """Lets processes in, watches them, and tells them to end.

    Args:
        listener: where they connect.
        job: what they must agree upon.
        coordinator: port on which rank 0 will start JAX's own service, 0 if it runs already.
    """

    def __init__(self, listener: socket.socket, job: Job, coordinator: int) -> None:
        self._listener = listener
        self._authenticator = Authenticator(listener, job.secret, job.world_size)
        self._job = job
        self._coordinator = coordinator
        self._peers: dict[int, _Peer] = {}
        self._failures: dict[int, tuple[float, str]] = {}
        self._meetings: dict[tuple[str, int], set[int]] = {}
        self._selector = selectors.DefaultSelector()
        idle = float(environment.HANG_TIMEOUT.read())
        self._watch = Watch(idle, float(environment.COLLECTIVE_TIMEOUT.read()))
        self.thread = threading.Thread(target=self._run, name="oneflow-hub", daemon=True)
        self.thread.start()

    def _run(self) -> None:
        problem = self._gather()
        if problem is None:
            self._authenticator.close()
            problem = self._serve()
        if problem is not None:
            self._let_rank_0_in()
            self._end(problem)
        self._authenticator.close()
        with contextlib.suppress(OSError):
            self._listener.close()

    # --- until all processes are there

    def _gather(self) -> Verdict | None:
        """Let all processes in; returns why that failed, or None."""
        begin = time.monotonic()
        limit = float(environment.JOIN_TIMEOUT.read())
        said = False
        while len(self._peers) < self._job.world_size:
            for peer in self._authenticator.authenticated_peers(_TICK):
                problem = self._admit(peer)
                if problem is not None:
                    return problem
            waited = time.monotonic() - begin
            problem = self._lost_while_gathering()
            if problem is not None:
                return problem
            if waited > limit:
                missing = self._missing()
                return Verdict(
                    missing[0],
                    f"{_named(missing)} did not arrive within {limit:.0f} seconds "
                    f"({environment.JOIN_TIMEOUT.name}){self._refused()}",
                )
            if waited > _SECONDS_UNTIL_WAITING_IS_SAID and not said:
                said = True
                who = _named(self._missing())
                text = f"oneflow: still waiting for {who} to start{self._refused()}\n"
                os.write(sys.__stderr__.fileno() if sys.__stderr__ else 2, text.encode())
        return self._start()

    def _let_rank_0_in(self) -> None:
        """Wait for the process of the hub itself, which may come last and has to hear as well."""
        deadline = time.monotonic() + _SECONDS_FOR_RANK_0
        while 0 not in self._peers and time.monotonic() < deadline:
            for peer in self._authenticator.authenticated_peers(_TICK):
                self._admit(peer)

    def _refused(self) -> str:
        """What to say of those who did not know the secret."""
        refused = self._authenticator.refused
        if not refused:
            return ""
        return f"; {refused} did not know {environment.SECRET.name} and were refused"

    def _missing(self) -> list[int]:
        return [rank for rank in range(self._job.world_size) if rank not in self._peers]

    def _admit(self, peer: AuthenticatedPeer) -> Verdict | None:
        """Let a process in; a wrong number of processes ends the job."""
        hello, channel = peer.introduction, peer.channel
        try:
            rank, world_size, process = (
                int(hello[name]) for name in ("rank", "world_size", "process")
            )
        except (KeyError, TypeError, ValueError, OverflowError):
            channel.close()
            return None
        if hello.get("job") != self._job.name or rank in self._peers:
            refuse(channel, f"another job uses this port, with a rank {rank} of its own")
            channel.close()
            return None
        self._authenticator.welcome(peer)
        self._peers[rank] = _Peer(channel, str(hello.get("host")), process)
        self._selector.register(channel, selectors.EVENT_READ, rank)
        if world_size == self._job.world_size and 0 <= rank < world_size:
            return None
        return Verdict(
            rank,
            f"world sizes differ: rank {rank} was started as one of {world_size} processes, rank 0 "
            f"as one of {self._job.world_size}",
        )

    def _lost_while_gathering(self) -> Verdict | None:
        for key, _ in self._selector.select(0):
            peer = self._peers[key.data]
            try:
                peer.channel.receive(0.0)
            except (EOFError, ValueError):
                return Verdict(key.data, f"rank {key.data} ended before all processes had started")
        folder = environment.FAILURE_FOLDER.read()
        for rank in self._missing() if folder else ():
            if Path(folder, f"exited{rank}").exists():
                return Verdict(rank, f"rank {rank} ended without having joined the other processes")
        return None

    def _start(self) -> Verdict | None:
        """Say that all are there: to rank 0 first, whose service the others need."""
        start = {"start": True, "coordinator": self._coordinator, "seed": secrets.randbits(63)}
        self._tell(0, **start)
        if self._coordinator:
            _wait_for_port(self._listener.getsockname()[0], self._coordinator)
        for rank in self._peers:
            if rank != 0:
                self._tell(rank, **start)
        return None

    # --- while they work

    def _serve(self) -> Verdict | None:
        """Watch until all processes are done (None) or the job must end."""
        while True:
            changed = False
            for key, _ in self._selector.select(_TICK):
                changed = True
                problem = self._hear(key.data)
                if problem is not None:
                    return problem
            reports = {rank: peer.report for rank, peer in self._peers.items()}
            problem = self._settled_failure()
            if problem is None and changed:
                problem = find_mismatch(reports)
            if problem is None and not self._failures:
                problem, ask = self._watch.judge(reports, time.monotonic())
                for rank in ask:
                    self._ask(rank)
            if problem is not None:
                return problem
            if all(peer.report.leaving for peer in self._peers.values()):
                for rank in self._peers:
                    self._tell(rank, leave=True)
                return None

    def _hear(self, rank: int) -> Verdict | None:
        peer = self._peers[rank]
        try:
            messages = peer.channel.receive(0.0)
        except (EOFError, ValueError):
            self._selector.unregister(peer.channel)
            peer.gone = True
            if rank in self._failures:
                return None
            return Verdict(
                rank, f"rank {rank} ended abruptly (process {peer.process} on {peer.host})"
            )
        for message in messages:
            peer.report.record = message.get("record", peer.report.record)
            peer.report.leaving = message.get("leaving", peer.report.leaving)
            if "activity" in message:
                peer.asked = False
                peer.report.measurement = Measurement(
                    time.monotonic(), tuple(message["activity"]), message["in_runtime"]
                )
            if "meet" in message:
                self._meet(rank, *message["meet"])
            if "failure" in message:
                self._failures.setdefault(rank, (time.monotonic(), message["failure"]))
        return None

    def _ask(self, rank: int) -> None:
        """Ask a process what it does, unless it still has to answer."""
        if not self._peers[rank].asked:
            self._peers[rank].asked = True
            self._tell(rank, measure=True)

    def _meet(self, rank: int, group: str, count: int) -> None:
        """Tell the members of a group when all of them have come to the same operation."""
        come = self._meetings.setdefault((group, count), set())
        come.add(rank)
        if come == set(members_of(group)):
            del self._meetings[group, count]
            for member in come:
                self._tell(member, met=[group, count])

    def _settled_failure(self) -> Verdict | None:
        """The failure that caused the others, once that is clear."""
        if not self._failures:
            return None
        now = time.monotonic()
        own = {rank: each for rank, each in self._failures.items() if not blames_others(each[1])}
        if own:
            rank = min(own, key=lambda rank: own[rank][0])
            return Verdict(rank, f"rank {rank} failed: {own[rank][1]}")
        mismatch = find_mismatch({rank: peer.report for rank, peer in self._peers.items()})
        if mismatch is not None:
            return mismatch
        rank = min(self._failures, key=lambda rank: self._failures[rank][0])
        failed_at, text = self._failures[rank]
        if now - failed_at < _SECONDS_FOR_THE_CAUSE:
            return None
        return Verdict(rank, f"rank {rank} failed: {text}")

    # --- the end

    def _end(self, verdict: Verdict) -> None:
        """Tell all processes to end, rank 0 last, because the hub ends with it."""
        for rank in sorted(self._peers, reverse=True):
            if rank != 0:
                self._tell(rank, verdict=verdict.reason, culprit=verdict.rank)
        deadline = time.monotonic() + 2.0
        others = {rank for rank, peer in self._peers.items() if rank != 0 and not peer.gone}
        while others and time.monotonic() < deadline:
            for key, _ in self._selector.select(_TICK):
                try:
                    self._peers[key.data].channel.receive(0.0)
                except (EOFError, ValueError):
                    self._selector.unregister(key.fileobj)
                    others.discard(key.data)
        self._tell(0, verdict=verdict.reason, culprit=verdict.rank)

    def _tell(self, rank: int, **content: Any) -> None:
        # One that has gone is noticed when it is listened to.
        if rank in self._peers:
            with contextlib.suppress(OSError):
                self._peers[rank].channel.send(**content)


def _named(ranks: list[int]) -> str:
    shown = ", ".join(map(str, ranks[:8])) + (", ..." if len(ranks) > 8 else "")
    return f"rank {shown}" if len(ranks) == 1 else f"ranks {shown}"


def _wait_for_port(address: str, port: int) -> None:
    """Wait until somebody listens there; at most a minute."""
    own = "127.0.0.1" if address in ("0.0.0.0", "127.0.0.1") else "::1"
    deadline = time.monotonic() + 60.0
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError):
            socket.create_connection((own, port), timeout=1.0).close()
            return
        time.sleep(0.01)
