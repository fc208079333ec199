"""The identity of a job."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Job:
    """The identity of a job, on which all of its processes must agree.

    Attributes:
        world_size: the number of processes.
        id: the launcher's identifier of the job; empty without a launcher.
        secret: a text that only processes of the job know; empty if there is none.
    """

    world_size: int
    id: str
    secret: str = ""
