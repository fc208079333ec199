"""Fetch programs that were written for OneFlow, and run them.

``python -m tools.clients libai`` runs the client of that name, ``python -m tools.clients`` all;
`make clients CLIENTS=libai` does the same. What has passed is not run again, so that a stopped run
goes on; `--again` runs it again. Files, environments and logs are in a cache folder, and nothing
of them in this repository. The exit code is 1 if a run does not pass.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tools.cache_folder import cache_folder
from tools.clients.catalogue import read_clients
from tools.clients.checkout import Checkout
from tools.clients.runs import PASSED, Results, run
from tools.clients.table import write_table


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.clients", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("clients", nargs="*", help="names of clients; default: all")
    parser.add_argument("-k", default="", help="only runs whose names hold this")
    parser.add_argument("--again", action="store_true", help="run what has passed, too")
    parser.add_argument(
        "--cache", type=Path, default=cache_folder("oneflow-clients"), help="the cache folder"
    )
    options = parser.parse_args()
    clients = read_clients()
    unknown = set(options.clients) - {client.name for client in clients}
    if unknown:
        parser.error(f"no client is called {', '.join(unknown)}")
    results = Results(options.cache / "results.jsonl")
    failed = 0
    for client in clients:
        if options.clients and client.name not in options.clients:
            continue
        checkout = Checkout(client, options.cache)
        for client_run in client.runs:
            known = results.get(client_run)
            if options.k not in client_run.name or (
                known is not None and known.outcome == PASSED and not options.again
            ):
                continue
            checkout.prepare()
            result = run(client, client_run, checkout, results)
            results.add(result)
            write_table(clients, results)
            failed += result.outcome != PASSED
            print(
                f"{client.name}: {client_run.name}: {result.outcome}, {result.seconds} s",
                flush=True,
            )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
