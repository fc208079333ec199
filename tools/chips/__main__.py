"""Compile our programs and hand-written JAX for GPUs and TPUs that are not here, and compare.

``python -m tools.chips`` compiles all, ``python -m tools.chips gpt2 --chips h100 v5e`` some;
`make chips CHIPS_ARGS="gpt2"` does the same. Each is compiled in a process of its own, in an
environment with XLA's compilers, which is made first. What has a result is not compiled again, so
that a stopped run goes on; `--again` does ours anew, which JAX's need not. The table is in
`docs/chips.md`.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import subprocess
import sys
from pathlib import Path

from tools.cache_folder import cache_folder
from tools.chips.environment import make_environment
from tools.chips.table import write_table

ROOT = Path(__file__).resolve().parents[2]
# The cheapest first.
NAMES = (
    "sdpa", "sdpa_gqa", "sdpa_full", "dropout", "cross_entropy", "lstm", "vit", "resnet50", "bert",
    "llama", "gpt2", "gpt2_dropout",
)  # fmt: skip
CHIPS = ("h100", "v5e")
# XLA's compiler for GPUs finds no tiles for this one's products, neither for ours nor for JAX's.
FAILING = (("vit", "h100"),)
SHARED = (("gpt2", "h100:8"), ("resnet50", "h100:8"))


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.chips", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("names", nargs="*", help=f"programs; default: all: {', '.join(NAMES)}")
    parser.add_argument("--chips", nargs="+", help="such as h100 and h100:8; default: some of each")
    parser.add_argument("--again", action="store_true", help="compile ours again")
    parser.add_argument("--limit", type=int, default=1800, help="seconds for a program")
    parser.add_argument(
        "--cache", type=Path, default=cache_folder("oneflow-chips"), help="the cache folder"
    )
    options = parser.parse_args()
    if unknown := set(options.names) - set(NAMES):
        parser.error(f"no program is called {', '.join(unknown)}; there are {', '.join(NAMES)}")
    if options.chips:
        wanted = list(itertools.product(options.names or NAMES, options.chips))
    else:
        wanted = [*itertools.product(NAMES, CHIPS), *SHARED]
        wanted = [job for job in wanted if not options.names or job[0] in options.names]
        wanted = [job for job in wanted if job not in FAILING]
    python = make_environment(options.cache / "environment")
    for name, chip in wanted:
        for which in ("ours", "jax"):
            _measure(python, options, name, chip, which)
    results = _results(options.cache)
    write_table(results)
    return 0 if all((*job, "ours") in results for job in wanted) else 1


def _measure(python: Path, options: argparse.Namespace, name: str, chip: str, which: str) -> None:
    """Compile a program unless it has a result."""
    result = options.cache / "results" / f"{name}-{chip.replace(':', 'x')}-{which}.json"
    if result.is_file() and not (options.again and which == "ours"):
        return
    result.parent.mkdir(parents=True, exist_ok=True)
    paths = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    command = [str(python), "-m", "tools.chips.measure", name, chip, which]
    environment = os.environ | {"PYTHONPATH": paths}
    try:
        run = subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, text=True,
            timeout=options.limit, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        print(f"{name} for {chip}, {which}: more than {options.limit} s", flush=True)
        return
    if run.returncode:
        print(f"{name} for {chip}, {which}: failed\n{run.stderr[-2000:]}", flush=True)
        return
    figures = json.loads(run.stdout.splitlines()[-1])
    result.write_text(json.dumps({"program": [name, chip, which], "figures": figures}))
    print(f"{name} for {chip}, {which}: {figures}", flush=True)


def _results(cache: Path) -> dict[tuple[str, str, str], dict[str, float]]:
    """All results, by program, chip, and whose it is, in the order of the programs."""
    found = {}
    for file in (cache / "results").glob("*.json"):
        kept = json.loads(file.read_text())
        name, chip, which = kept["program"]
        found[name, chip, which] = kept["figures"]
    return dict(sorted(found.items(), key=lambda item: (NAMES.index(item[0][0]), item[0][1:])))


if __name__ == "__main__":
    sys.exit(main())
