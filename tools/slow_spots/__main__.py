"""Find the calls that are slower than PyTorch's at the shapes that models have.

``python -m tools.slow_spots resnet 4x64`` records the models whose names hold one of the words
(default: all), and times all that has been recorded; `make slow-spots SLOW_SPOTS="resnet"` does
the same. The models are those of `models.toml`, on the device `meta`. A run that is stopped goes on
where it was; `--anew` times again. The environment, the calls, their times and the table are in a
cache folder.
"""

from __future__ import annotations

import argparse
import os
import subprocess
from pathlib import Path

from tools.cache_folder import cache_folder
from tools.environments import PROJECT, Environment
from tools.slow_spots.table import table_of
from tools.torch_tests.processes import forget, run_to_the_end
from tools.torch_tests.results import Results

_PACKAGES = "timm==1.0.31", "transformers==5.24.0"


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.slow_spots", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("models", nargs="*", help="parts of names of models; default: all")
    parser.add_argument("-k", default="", help="only calls whose texts hold this")
    parser.add_argument("--anew", action="store_true", help="time again what has been timed")
    parser.add_argument("--threads", type=int, default=1, help="threads of both frameworks")
    parser.add_argument("--limit", type=int, default=180, help="seconds for a call")
    parser.add_argument(
        "--cache", type=Path, default=cache_folder("oneflow-slow-spots"), help="the cache folder"
    )
    options = parser.parse_args()
    environment = Environment(options.cache / "environment")
    environment.make(_PACKAGES, os.environ)
    variables = {
        **os.environ,
        "ONEFLOW_EAGER": "compiled",  # as a whole, from the first time on
        "OMP_NUM_THREADS": str(options.threads),
        "NPROC": str(options.threads),  # the threads of XLA
        "PYTHONPATH": f"{PROJECT / 'src'}:{PROJECT}",
    }
    python, calls = str(environment.python), options.cache / "calls.jsonl"
    record = [python, "-m", "tools.slow_spots.record", str(calls), *options.models]
    subprocess.run(record, cwd=PROJECT, env=variables, check=True)
    results = Results(options.cache / f"times-{options.threads}.jsonl")
    if options.anew:
        forget(results, options.k, passed=True)
    arguments = [str(calls), str(results.file), options.k, str(options.threads)]
    command = [python, "-m", "tools.slow_spots.measure", *arguments]
    run_to_the_end(command, variables, results.file, options.limit)
    table = table_of(results.file)
    (options.cache / f"table-{options.threads}.md").write_text(table)
    print(table)


if __name__ == "__main__":
    main()
