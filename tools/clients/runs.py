"""Running commands of clients, and comparing what they printed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from tools.clients.catalogue import FOLDER, Client, Run
from tools.clients.checkout import Checkout

PASSED = "passed"


@dataclass(frozen=True)
class Result:
    """The end of a run.

    Attributes:
        client: the name of the client.
        run: the name of the run.
        command: what was run; another command is run again.
        outcome: `PASSED`, or what went wrong.
        seconds: how long it took.
        losses: what it printed, for runs that must be equal to it.
    """

    client: str
    run: str
    command: str
    outcome: str
    seconds: float
    losses: Sequence[float] = ()


class Results:
    """The results so far, in a file, so that a stopped run of all goes on where it was.

    The last line about a run counts. Lines are only added, so that several processes may write.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        lines = file.read_text().splitlines() if file.exists() else []
        self._results = {(r.client, r.run): r for r in (Result(**json.loads(x)) for x in lines)}

    def get(self, run: Run) -> Result | None:
        """The result of a run, if its command is still the same."""
        result = self._results.get((run.client, run.name))
        return result if result is not None and result.command == run.command else None

    def add(self, result: Result) -> None:
        """Keep a result."""
        self._results[result.client, result.run] = result
        self._file.parent.mkdir(parents=True, exist_ok=True)
        with self._file.open("a") as file:
            file.write(json.dumps(asdict(result)) + "\n")


def run(client: Client, run: Run, checkout: Checkout, results: Results) -> Result:
    """Run a command of a client and say how it ended."""
    start = time.monotonic()
    outcome = _outcome(run, checkout)
    seconds = round(time.monotonic() - start, 1)
    losses = _losses(checkout, run) if run.losses else []
    if run.equals and outcome == PASSED:
        (like,) = (other for other in client.runs if other.name == run.equals)
        expected = results.get(like)
        outcome = _compare(run, losses, () if expected is None else expected.losses)
    return Result(run.client, run.name, run.command, outcome, seconds, losses)


def _outcome(run: Run, checkout: Checkout) -> str:
    file = checkout.folder / run.losses.partition(":")[0]
    if run.losses and file.exists():
        file.unlink()
    launch = "python"
    if run.ranks > 1:
        launch += f" -m oneflow.distributed.launch --nproc_per_node {run.ranks}"
    command = run.command.replace("{launch}", launch).replace("{tools}", str(FOLDER))
    status = _run_command(command, run, checkout)
    if status is None:
        return f"not done after {run.limit} s"
    if status:
        return f"exit status {status}"
    return PASSED


def _run_command(command: str, run: Run, checkout: Checkout) -> int | None:
    """The exit status of a command; None if it was stopped at its limit."""
    log = checkout.folder.parent / "logs" / f"{run.name}.log"
    log.parent.mkdir(exist_ok=True)
    with log.open("w") as output:
        process = subprocess.Popen(
            command,
            shell=True,
            cwd=checkout.folder,
            env={"HOME": os.environ.get("HOME", ""), **checkout.variables()},
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            return process.wait(run.limit)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return None


def _losses(checkout: Checkout, run: Run) -> list[float]:
    name, _, field = run.losses.partition(":")
    file = checkout.folder / name
    lines = file.read_text().splitlines() if file.exists() else []
    return [record[field] for record in map(json.loads, lines) if field in record]


def _compare(run: Run, losses: Sequence[float], expected: Sequence[float]) -> str:
    if len(losses) != len(expected) or not losses:
        return f"{len(losses)} losses in place of {len(expected)}"
    error = max(abs(a - b) / abs(b) for a, b in zip(losses, expected, strict=True))
    if not error <= run.tolerance:
        return f"losses differ from those of {run.equals} by {error:.1e}"
    return PASSED
