"""Run libraries that were written for PyTorch on PyTorch, and on this package in its place.

``python -m tools.third_party timm`` runs the library of that name, ``python -m tools.third_party``
all; `make third-party THIRD_PARTY=timm` does the same. What has a result is not run again, so that
a stopped run goes on; `--again` runs again what has not passed, and `--anew` everything, as after a
change of the cases. The environment, files and results are in a cache folder. The table is
`docs/third_party.md`. The exit code is 1 if less passes than the page promises.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from tools.cache_folder import cache_folder
from tools.environments import PROJECT, Environment
from tools.third_party.libraries import Library, read_libraries
from tools.third_party.table import write_table
from tools.torch_tests.processes import forget, run_to_the_end
from tools.torch_tests.results import results_of


def prepare(cache: Path, library: Library) -> Environment:
    """Make the environment of all libraries, and install one."""
    environment = Environment(cache / "environment")
    stamp = cache / "installed" / library.name
    if not stamp.exists() or stamp.read_text() != repr(library.packages):
        fixed = cache / "constraints.txt"
        fixed.parent.mkdir(parents=True, exist_ok=True)
        fixed.write_text("torch==2.13.0\ntorchvision==0.28.0\n")
        environment.make(library.packages, os.environ, "--constraint", str(fixed))
        stamp.parent.mkdir(exist_ok=True)
        stamp.write_text(repr(library.packages))
    return environment


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.third_party", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("libraries", nargs="*", help="names of libraries; default: all")
    parser.add_argument("-k", default="", help="only cases whose names hold this")
    parser.add_argument("--again", action="store_true", help="run again what has not passed here")
    parser.add_argument("--anew", action="store_true", help="run all again")
    parser.add_argument("--limit", type=int, default=180, help="seconds for a case")
    parser.add_argument(
        "--cache", type=Path, default=cache_folder("oneflow-third-party"), help="the cache folder"
    )
    options = parser.parse_args()
    libraries = read_libraries()
    if unknown := set(options.libraries) - {library.name for library in libraries}:
        parser.error(f"no library is called {', '.join(unknown)}")
    # The models are small; threads would wait for each other.
    variables = {
        **os.environ,
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": f"{PROJECT / 'src'}:{PROJECT}",
    }
    for library in libraries:
        if options.libraries and library.name not in options.libraries:
            continue
        environment = prepare(options.cache, library)
        for framework in ("torch", "oneflow"):
            results = results_of(options.cache, framework, library.name)
            if options.again or options.anew:
                forget(results, options.k, passed=options.anew)
            arguments = [framework, library.name, str(options.cache), options.k]
            command = [str(environment.python), "-m", "tools.third_party.child", *arguments]
            run_to_the_end(command, variables, results.file, options.limit)
    return 0 if write_table(options.cache, libraries) else 1


if __name__ == "__main__":
    sys.exit(main())
