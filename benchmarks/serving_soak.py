"""A server for many minutes at 80 % of what it can, with reloads, and a kill at the end.

    python -m benchmarks.serving_soak --minutes 10

At first clients that ask again when they are answered show the capacity, for half a minute, as a
burst of a few seconds is faster than what lasts. Then requests come at 80 % of that rate, whether
those before are answered or not; on a machine with other work it may be more than there is.
Every other minute a new version of the model replaces the old one. A line a minute: requests,
errors, latency from the time when a request was due, memory of the server's process. At last the
process is killed while requests go on, and `--restart` starts it again.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp

from benchmarks.serving import load, request_of, save

SHARE = 0.8
CLIENTS = 32
CAPACITY_SECONDS = 30


@dataclass
class Tally:
    """Counts of requests by their outcome.

    Attributes:
        latencies: of those that were answered, in seconds.
        errors: what the others got.
    """

    latencies: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def quantile(self, share: float) -> float:
        """The latency of a share of the requests, in milliseconds."""
        ordered = sorted(self.latencies)
        return ordered[min(int(len(ordered) * share), len(ordered) - 1)] * 1e3


async def constant_rate(url: str, message: tuple, rate: float, seconds: float) -> Tally:
    """Send requests at a constant rate over a bounded number of connections."""
    body, headers = message
    tally = Tally()
    start = time.perf_counter()
    numbers = iter(range(int(rate * seconds)))

    async def client(session: aiohttp.ClientSession) -> None:
        for number in numbers:
            due = start + number / rate
            await asyncio.sleep(due - time.perf_counter())
            try:
                async with session.post(url, data=body, headers=headers) as response:
                    content = await response.read()
                    if response.status != 200:
                        tally.errors.append(content.decode(errors="replace"))
                        continue
            except aiohttp.ClientError as error:
                tally.errors.append(repr(error))
                continue
            tally.latencies.append(time.perf_counter() - due)

    connector = aiohttp.TCPConnector(limit=CLIENTS)
    async with aiohttp.ClientSession(connector=connector) as session:
        await asyncio.gather(*(client(session) for _ in range(CLIENTS)))
    return tally


def start(folder: Path, port: int) -> tuple[subprocess.Popen, int]:
    """A server that is ready, and the number of its process."""
    command = [sys.executable, "-m", "oneflow.serving", str(folder), "--restart"]
    command += ["--http", str(port), "--grpc", str(port + 1)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    return process, next_ready(process)


def next_ready(process: subprocess.Popen) -> int:
    """Wait for the line of the log that says that a server is ready; its process."""
    while True:
        line = json.loads(process.stderr.readline())
        if line["message"] == "server ready":
            return line["pid"]


def memory(pid: int) -> float:
    """The resident memory of a process, in MiB."""
    text = Path(f"/proc/{pid}/statm").read_text()
    return int(text.split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def publish(folder: Path) -> None:
    """Put a new version of the model beside the present one."""
    number = max(int(path.name) for path in folder.iterdir() if path.name.isdecimal())
    shutil.copytree(folder / str(number), folder / ".new")
    (folder / ".new").rename(folder / str(number + 1))


def main() -> None:
    """Print a line for each minute, and what the kill did."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--network", choices=("mnist", "mobilenet_v2"), default="mnist")
    parser.add_argument("--minutes", type=int, default=10)
    parser.add_argument("--port", type=int, default=8300)
    options = parser.parse_args()
    message = request_of(options.network)
    url = f"http://127.0.0.1:{options.port}/v2/models/model/infer"
    with tempfile.TemporaryDirectory() as temporary:
        models = Path(temporary) / "models"
        save(options.network, models / "model" / "1")
        process, pid = start(models, options.port)
        try:
            measured = asyncio.run(load(url, message, CLIENTS, CAPACITY_SECONDS))
            rate = SHARE * len(measured) / CAPACITY_SECONDS
            print(f"{rate:.0f} requests per second\n")
            print("| minute | requests | errors | p50 ms | p99 ms | longest ms | MiB |")
            print("|---|---|---|---|---|---|---|", flush=True)
            for minute in range(1, options.minutes + 1):
                if minute % 2 == 0:
                    publish(models / "model")
                tally = asyncio.run(constant_rate(url, message, rate, 60))
                figures = " | ".join(f"{tally.quantile(number):.1f}" for number in (0.5, 0.99, 1))
                answered = len(tally.latencies) + len(tally.errors)
                print(
                    f"| {minute} | {answered} | {len(tally.errors)} | {figures} | "
                    f"{memory(pid):.0f} |",
                    *tally.errors[:1],
                    flush=True,
                )
            kill_under_load(url, message, pid, rate)
            assert next_ready(process) != pid
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(60)


def kill_under_load(url: str, message: tuple, pid: int, rate: float) -> None:
    """Print what happens to requests when the process is killed."""

    async def run() -> Tally:
        asyncio.get_running_loop().call_later(3, os.kill, pid, signal.SIGKILL)
        return await constant_rate(url, message, rate, 20)

    tally = asyncio.run(run())
    answered, lost = len(tally.latencies), len(tally.errors)
    print(f"\nkilled: {answered} answered, {lost} in flight lost {set(tally.errors)}")


if __name__ == "__main__":
    main()
