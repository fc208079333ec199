"""The time that the server adds to a call of a small saved graph.

    python -m benchmarks.serving_overhead

One client on a plain socket, which costs 20 microseconds of its own (one of a library costs
ten times as much), in turns with the same calls of the graph in this process.
"""

from __future__ import annotations

import argparse
import socket
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import oneflow as flow
from benchmarks.rival_servers import NETWORKS, Served, running
from benchmarks.serving import request_of, save

NAME = "mnist"


def socket_client(port: int) -> Callable[[], None]:
    """A function that sends a request over a connection of its own, and waits for the answer."""
    body, headers = request_of(NAME)
    lines = ["POST /v2/models/model/infer HTTP/1.1", "Host: localhost"]
    lines += [f"{key}: {value}" for key, value in headers.items()]
    lines += [f"Content-Length: {len(body)}", "", ""]
    request = "\r\n".join(lines).encode() + body
    connection = socket.create_connection(("127.0.0.1", port))
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def ask() -> None:
        connection.sendall(request)
        answer = b""
        while b"\r\n\r\n" not in answer:
            answer += connection.recv(65536)
        head, _, content = answer.partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200"), answer
        lengths = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-len")]
        missing = int(lengths[0].split(b":")[1]) - len(content)
        while missing > 0:
            missing -= len(connection.recv(65536))

    return ask


def median_seconds(run: Callable[[], object], calls: int) -> float:
    """The median time of a call."""
    times = []
    for _ in range(calls):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def main() -> None:
    """Print a line for each round, and the median of what the server adds."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--calls", type=int, default=500, help="of a round")
    parser.add_argument("--port", type=int, default=8500)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        served = Served(NAME, Path(folder))
        save(NAME, served.graph)
        graph, row = flow.nn.Graph.load(served.graph), NETWORKS[NAME].rows(1)
        with running("oneflow", served, options.port):
            ask = socket_client(options.port)
            median_seconds(ask, options.calls)
            print("| request ms | call ms | added ms |\n|---|---|---|", flush=True)
            added = []
            for _ in range(options.rounds):
                request = median_seconds(ask, options.calls) * 1e3
                call = median_seconds(lambda: graph(flow.from_numpy(row)).numpy(), options.calls)
                added.append(request - call * 1e3)
                print(f"| {request:.3f} | {call * 1e3:.3f} | {added[-1]:.3f} |", flush=True)
    print(f"\nmedian: {statistics.median(added):.3f} ms")


if __name__ == "__main__":
    main()
