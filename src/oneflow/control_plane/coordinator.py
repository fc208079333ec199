"""The coordinator: a thread in rank 0 that the agents of all ranks are connected to."""

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
from oneflow.base.group_ranks import ranks_named
from oneflow.control_plane.activity import Activity
from oneflow.control_plane.admission import AdmissionControl, ValidatedPeer, reject
from oneflow.control_plane.channel import Channel
from oneflow.control_plane.diagnosis import ActivitySample, RankReport, find_mismatch
from oneflow.control_plane.hang_detection import HangDetection
from oneflow.control_plane.job import Job
from oneflow.control_plane.root_cause import RootCause, is_connection_failure

_POLL_SECONDS = 0.25
# A process may fail because another has died: wait this long for news of that one.
_SECONDS_FOR_ROOT_CAUSE = 2.0
_SECONDS_TO_FIRST_LOG = 20.0
_SECONDS_FOR_RANK_0 = 10.0
# Longer than an agent lets its process take to exit, and shorter than the launcher waits for all.
_SECONDS_FOR_OTHERS = 7.0


@dataclass
class _Peer:
    channel: Channel
    host: str
    process: int
    report: RankReport = field(default_factory=RankReport)
    sample_pending: bool = False
    closed: bool = False


class Coordinator:
    """Admits the processes of a job, supervises them, and aborts the job when it has failed.

    Args:
        server: the socket that agents connect to.
        job: the identity of the job.
        jax_port: the port on which rank 0 will start JAX's coordination service; 0 if it already
            runs.

    Attributes:
        thread: the thread that does all of this.
    """

    def __init__(self, server: socket.socket, job: Job, jax_port: int) -> None:
        self._server = server
        self._admission = AdmissionControl(server, job.secret, job.world_size)
        self._job = job
        self._jax_port = jax_port
        self._peers: dict[int, _Peer] = {}
        # The time of a failure, in seconds, and the failure in words, by rank.
        self._failures: dict[int, tuple[float, str]] = {}
        # The ranks that have reached an operation, by its group and its number.
        self._barriers: dict[tuple[str, int], set[int]] = {}
        self._selector = selectors.DefaultSelector()
        idle_timeout = float(environment.HANG_TIMEOUT.read())
        self._hang_detection = HangDetection(
            idle_timeout, float(environment.COLLECTIVE_TIMEOUT.read())
        )
        self.thread = threading.Thread(target=self._run, name="oneflow-coordinator", daemon=True)
        self.thread.start()

    def _run(self) -> None:
        root_cause = self._rendezvous()
        if root_cause is None:
            self._admission.close()
            root_cause = self._run_job()
        if root_cause is not None:
            self._await_rank_0()
            self._terminate(root_cause)
        self._admission.close()
        with contextlib.suppress(OSError):
            self._server.close()

    # --- until all processes have joined

    def _rendezvous(self) -> RootCause | None:
        """Admit all processes and start the job; return the reason if that fails."""
        begin = time.monotonic()
        timeout = float(environment.JOIN_TIMEOUT.read())
        is_logged = False
        while len(self._peers) < self._job.world_size:
            for peer in self._admission.poll(_POLL_SECONDS):
                root_cause = self._admit(peer)
                if root_cause is not None:
                    return root_cause
            elapsed = time.monotonic() - begin
            root_cause = self._find_early_exit()
            if root_cause is not None:
                return root_cause
            if elapsed > timeout:
                missing = self._missing_ranks()
                return RootCause(
                    missing[0],
                    f"{_format_ranks(missing)} did not join within {timeout:.0f} seconds "
                    f"({environment.JOIN_TIMEOUT.name}){self._format_reject_count()}",
                )
            if elapsed > _SECONDS_TO_FIRST_LOG and not is_logged:
                is_logged = True
                missing = _format_ranks(self._missing_ranks())
                text = (
                    f"oneflow: still waiting for {missing} to join{self._format_reject_count()}\n"
                )
                os.write(sys.__stderr__.fileno() if sys.__stderr__ else 2, text.encode())
        return self._start()

    def _await_rank_0(self) -> None:
        """Wait for the coordinator's own process, which may join last and must be told as well."""
        deadline = time.monotonic() + _SECONDS_FOR_RANK_0
        while 0 not in self._peers and time.monotonic() < deadline:
            for peer in self._admission.poll(_POLL_SECONDS):
                self._admit(peer)

    def _format_reject_count(self) -> str:
        """Return what a message adds about connections with a wrong secret."""
        count = self._admission.rejected
        if not count:
            return ""
        return f"; rejected {count} connection(s) with a wrong {environment.SECRET.name}"

    def _missing_ranks(self) -> list[int]:
        return [rank for rank in range(self._job.world_size) if rank not in self._peers]

    def _admit(self, peer: ValidatedPeer) -> RootCause | None:
        """Admit a process; return a reason instead if its world size is not the job's."""
        identity, channel = peer.identity, peer.channel
        try:
            rank, world_size, process = (
                int(identity[name]) for name in ("rank", "world_size", "process")
            )
        except (KeyError, TypeError, ValueError, OverflowError):
            channel.close()
            return None
        if identity.get("job") != self._job.id or rank in self._peers:
            reject(
                channel,
                f"another job uses this port and has its own rank {rank}; choose another port with "
                f"{environment.MASTER_PORT.name}",
            )
            channel.close()
            return None
        self._admission.admit(peer)
        self._peers[rank] = _Peer(channel, str(identity.get("host")), process)
        self._selector.register(channel, selectors.EVENT_READ, rank)
        if world_size == self._job.world_size and 0 <= rank < world_size:
            return None
        return RootCause(
            rank,
            f"world sizes differ: rank {rank} was started as one of {world_size} processes, rank 0 "
            f"as one of {self._job.world_size}",
        )

    def _find_early_exit(self) -> RootCause | None:
        """Return a rank that has exited while the job waits for others to join, or None."""
        for key, _ in self._selector.select(0):
            peer = self._peers[key.data]
            try:
                peer.channel.recv(0.0)
            except (EOFError, ValueError):
                return RootCause(key.data, f"rank {key.data} exited before all ranks had joined")
        folder = environment.FAILURE_FOLDER.read()
        for rank in self._missing_ranks() if folder else ():
            if Path(folder, f"exited{rank}").exists():
                return RootCause(rank, f"rank {rank} exited without joining the other ranks")
        return None

    def _start(self) -> None:
        """Start the job, at rank 0 first, because the others need its JAX coordination service."""
        start = {"start": True, "jax_port": self._jax_port, "seed": secrets.randbits(63)}
        self._send(0, **start)
        if self._jax_port:
            _wait_for_port(self._server.getsockname()[0], self._jax_port)
        for rank in self._peers:
            if rank != 0:
                self._send(rank, **start)

    # --- while the job runs

    def _run_job(self) -> RootCause | None:
        """Supervise the job until all ranks have finished, or return why it must be terminated."""
        while True:
            is_changed = False
            for key, _ in self._selector.select(_POLL_SECONDS):
                is_changed = True
                root_cause = self._recv(key.data)
                if root_cause is not None:
                    return root_cause
            report_by_rank = {rank: peer.report for rank, peer in self._peers.items()}
            root_cause = self._find_primary_failure()
            if root_cause is None and is_changed:
                root_cause = find_mismatch(report_by_rank)
            if root_cause is None and not self._failures:
                root_cause, ranks = self._hang_detection.check(report_by_rank, time.monotonic())
                for rank in ranks:
                    self._request_sample(rank)
            if root_cause is not None:
                return root_cause
            if all(peer.report.finished for peer in self._peers.values()):
                for rank in self._peers:
                    self._send(rank, shutdown=True)
                return None

    def _recv(self, rank: int) -> RootCause | None:
        """Handle the messages of an agent; return the root cause if its process has died."""
        peer = self._peers[rank]
        try:
            messages = peer.channel.recv(0.0)
        except (EOFError, ValueError):
            self._selector.unregister(peer.channel)
            peer.closed = True
            if rank in self._failures:
                return None
            return RootCause(
                rank, f"rank {rank} exited unexpectedly (process {peer.process} on {peer.host})"
            )
        for message in messages:
            peer.report.progress = message.get("progress", peer.report.progress)
            peer.report.finished = message.get("finished", peer.report.finished)
            if "activity" in message:
                peer.sample_pending = False
                peer.report.sample = ActivitySample(
                    time.monotonic(), Activity(*message["activity"]), message["in_runtime"]
                )
            if "barrier" in message:
                self._enter_barrier(rank, *message["barrier"])
            if "failure" in message:
                self._failures.setdefault(rank, (time.monotonic(), message["failure"]))
        return None

    def _request_sample(self, rank: int) -> None:
        """Ask an agent for an activity sample, unless an answer is pending."""
        if not self._peers[rank].sample_pending:
            self._peers[rank].sample_pending = True
            self._send(rank, sample=True)

    def _enter_barrier(self, rank: int, group: str, count: int) -> None:
        """Release the ranks of a group once all of them have reached the same operation."""
        ranks = self._barriers.setdefault((group, count), set())
        ranks.add(rank)
        if ranks == set(ranks_named(group)):
            del self._barriers[group, count]
            for member in ranks:
                self._send(member, release=[group, count])

    def _find_primary_failure(self) -> RootCause | None:
        """Return the failure that the others follow from, once that is clear."""
        if not self._failures:
            return None
        now = time.monotonic()
        primary = {
            rank: failure
            for rank, failure in self._failures.items()
            if not is_connection_failure(failure[1])
        }
        if primary:
            rank = min(primary, key=lambda rank: primary[rank][0])
            return RootCause(rank, f"rank {rank} failed: {primary[rank][1]}")
        mismatch = find_mismatch({rank: peer.report for rank, peer in self._peers.items()})
        if mismatch is not None:
            return mismatch
        rank = min(self._failures, key=lambda rank: self._failures[rank][0])
        failed_at, text = self._failures[rank]
        if now - failed_at < _SECONDS_FOR_ROOT_CAUSE:
            return None
        return RootCause(rank, f"rank {rank} failed: {text}")

    # --- the end

    def _terminate(self, root_cause: RootCause) -> None:
        """Tell all ranks to exit, and rank 0 when the others have.

        With rank 0 end the coordinator and JAX's coordination service, and JAX aborts a process
        whose service is gone, even while that exits.
        """
        message = {"abort": root_cause.reason, "root_cause": root_cause.rank}
        for rank in sorted(self._peers, reverse=True):
            if rank != 0:
                self._send(rank, **message)
        deadline = time.monotonic() + _SECONDS_FOR_OTHERS
        others = {rank for rank, peer in self._peers.items() if rank != 0 and not peer.closed}
        while others and time.monotonic() < deadline:
            for key, _ in self._selector.select(_POLL_SECONDS):
                try:
                    self._peers[key.data].channel.recv(0.0)
                except (EOFError, ValueError):
                    self._selector.unregister(key.fileobj)
                    others.discard(key.data)
        self._send(0, **message)

    def _send(self, rank: int, **content: Any) -> None:
        # A broken connection is noticed when it is read.
        if rank in self._peers:
            with contextlib.suppress(OSError):
                self._peers[rank].channel.send(**content)


def _format_ranks(ranks: list[int]) -> str:
    numbers = ", ".join(map(str, ranks[:8])) + (", ..." if len(ranks) > 8 else "")
    return f"rank {numbers}" if len(ranks) == 1 else f"ranks {numbers}"


def _wait_for_port(address: str, port: int) -> None:
    """Wait until a process listens on this port of the machine; at most a minute."""
    local = "127.0.0.1" if address in ("0.0.0.0", "127.0.0.1") else "::1"
    deadline = time.monotonic() + 60.0
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError):
            socket.create_connection((local, port), timeout=1.0).close()
            return
        time.sleep(0.01)
