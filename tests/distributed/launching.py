"""Running programs of this folder as several processes."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = Path(__file__).parent / "programs"
# Seconds after which something hangs, on a machine however busy.
PATIENCE = 500.0


@dataclass(frozen=True)
class Outcome:
    """The exit code and the output of a job."""

    code: int
    output: str
    error: str


def environment(**changes: str) -> dict[str, str]:
    """Return the environment of this process without the variables of a job."""
    names = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT")
    kept = {name: value for name, value in os.environ.items() if name not in names}
    return {**kept, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}", **changes}


def free_port() -> int:
    """Return a port that no process listens on."""
    with socket.create_server(("", 0)) as probe:
        return probe.getsockname()[1]


def start(
    program: str, *arguments: str, processes: int = 2, options: tuple[str, ...] = (), **changes: str
) -> subprocess.Popen[str]:
    """Start a program under the launcher; `changes` are environment variables."""
    command = [
        sys.executable,
        "-m",
        "oneflow.distributed.launch",
        "--nproc_per_node",
        str(processes),
        *options,
        str(PROGRAMS / program),
        *arguments,
    ]
    return subprocess.Popen(
        command,
        env=environment(**changes),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(job: subprocess.Popen[str]) -> Outcome:
    """Wait for a job; one that hangs is killed."""
    with job:
        try:
            output, error = job.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            job.kill()
            raise
    return Outcome(job.returncode, output, error)


def launch(
    program: str, *arguments: str, processes: int = 2, options: tuple[str, ...] = (), **changes: str
) -> Outcome:
    """Run a program under the launcher; `changes` are environment variables."""
    return finish(start(program, *arguments, processes=processes, options=options, **changes))


def assert_succeeds(program: str, *arguments: str, processes: int = 2, **changes: str) -> Outcome:
    """Run a program that checks itself."""
    outcome = launch(program, *arguments, processes=processes, **changes)
    assert outcome.code == 0, f"\n{outcome.output}\n{outcome.error}"
    return outcome


@dataclass(frozen=True)
class ProgramsOutcome(Outcome):
    """The output of programs that ran one after the other in one job.

    Attributes:
        records: per rank the programs that have ended, with their arguments and what they printed.
    """

    records: list[list[tuple[list[str], str]]]

    def assert_succeeded(self, *program: str) -> list[str]:
        """Return what each rank printed in a program, named with its first arguments."""
        printed = [
            text
            for records in self.records
            for name, text in records
            if name[: len(program)] == [*program]
        ]
        assert len(printed) == len(self.records), f"\n{self.output}\n{self.error}"
        return printed


def launch_in_sequence(
    folder: Path, programs: list[list[str]], processes: int = 2
) -> ProgramsOutcome:
    """Run programs with their arguments in one job; records are written into the folder."""
    outcome = launch("sequence.py", str(folder), json.dumps(programs), processes=processes)
    paths = [folder / f"rank_{rank}" for rank in range(processes)]
    lines = [path.read_text("utf-8").splitlines() if path.exists() else [] for path in paths]
    records = [[json.loads(line) for line in output] for output in lines]
    return ProgramsOutcome(outcome.code, outcome.output, outcome.error, records)
