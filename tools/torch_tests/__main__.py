"""Run PyTorch's own tests on PyTorch, and those that pass on this package in its place.

``python -m tools.torch_tests nn/test_init.py`` runs one file, ``python -m tools.torch_tests`` all;
`make torch-tests TORCH_TESTS=nn/test_init.py` does the same. What has a result is not run again, so
that a stopped run goes on; `--again` runs on this package again what has not passed there, and
`--anew` everything. The table is `docs/torch_tests.md`; failures, grouped by what they say, are in
``failures.txt`` of the cache folder. The exit code is 1 if less passes than the page promises.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tools.cache_folder import cache_folder
from tools.torch_tests.files import FILES, fetch
from tools.torch_tests.processes import forget, run_file
from tools.torch_tests.results import results_of
from tools.torch_tests.table import write_failures, write_table


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.torch_tests", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("files", nargs="*", help="files of PyTorch's tests; default: all")
    parser.add_argument("-k", default="", help="only tests whose names hold this")
    parser.add_argument("--again", action="store_true", help="run again what has not passed here")
    parser.add_argument("--anew", action="store_true", help="run all again on this package")
    parser.add_argument("--limit", type=int, default=120, help="seconds for a test")
    parser.add_argument(
        "--cache", type=Path, default=cache_folder("oneflow-torch-tests"), help="the cache folder"
    )
    options = parser.parse_args()
    if unknown := set(options.files) - set(FILES):
        parser.error(f"no file is called {', '.join(unknown)}; there are {', '.join(FILES)}")
    folder = fetch(options.cache)
    for file in options.files or FILES:
        if options.again or options.anew:
            forget(results_of(options.cache, "oneflow", file), options.k, passed=options.anew)
        for library in ("torch", "oneflow"):
            run_file(library, file, options.cache, folder, options.k, options.limit)
        write_failures(options.cache)
    return 0 if write_table(options.cache) else 1


if __name__ == "__main__":
    sys.exit(main())
