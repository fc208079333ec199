"""What identifies a job."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Job:
    """What all processes of a job must agree upon.

    Attributes:
        world_size: how many there are.
        name: what the launcher calls the job, if it does.
        secret: what nobody else knows, if there is such a thing.
    """

    world_size: int
    name: str
    secret: str = ""
