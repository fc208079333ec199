"""Compile our programs and hand-written JAX for GPUs and TPUs that are not here, and compare.

``python -m tools.chips`` compiles all, ``python -m tools.chips gpt2 --chips h100 v5e`` some;
`make chips CHIPS_ARGS="gpt2"` does the same. Each is compiled in a process of its own, in an
environment with XLA's compilers, which is made first. What has a result is not compiled again, so
that a stopped run goes on; `--again` does ours anew, which JAX's need not. The table is in
`docs/chips.md`. `rows` compiles every operator of `tests/samples` by itself.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tools.cache_folder import cache_folder
from tools.chips.environment import make_environment
from tools.chips.rows import compile_all, problems_in
from tools.chips.table import write_table

ROOT = Path(__file__).resolve().parents[2]
# The cheapest first.
NAMES = (
    "sdpa", "sdpa_gqa", "sdpa_full", "key_padding", "written_block", "padded_attention",
    "dropout", "cross_entropy", "experts", "lstm", "wide_deep", "vit", "resnet50", "unet", "bert",
    "llama", "gpt2", "gpt2_dropout", "gpt2_float32_sums", "llama_zero1", "llama_zero3",
    "llama_tensor", "llama_zero1_half_sums", "llama_zero3_half_sums", "llama_tensor_half_sums",
    "llama_sequence",
)  # fmt: skip
CHIPS = ("h100", "v5e")
# XLA's compiler for GPUs finds no tiles for this one's products, neither for ours nor for JAX's.
FAILING = (("vit", "h100"),)
# Programs that several chips compute together, and no single one.
DISTRIBUTED = NAMES[NAMES.index("gpt2_float32_sums") :]
SHARED = tuple((name, "h100:8") for name in ("gpt2", "resnet50", *DISTRIBUTED))
# The name of the operators, of which each is compiled by itself and compared with nothing.
ROWS = "rows"


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
    if unknown := set(options.names) - {*NAMES, ROWS}:
        parser.error(
            f"no program is called {', '.join(unknown)}; there are {', '.join((*NAMES, ROWS))}"
        )
    python = make_environment(options.cache / "environment")
    wanted = list(_wanted(options))
    for name, chip in wanted:
        for which in ("ours", "jax"):
            _measure(python, options, name, chip, which)
    results = _results(options.cache)
    write_table(results)
    failed = not all((*job, "ours") in results for job in wanted)
    if not options.names or ROWS in options.names:
        for chip in options.chips or CHIPS:
            failed |= _compile_rows(python, options, chip)
    return int(failed)


def _wanted(options: argparse.Namespace) -> Iterator[tuple[str, str]]:
    """The programs to compare, each with a chip."""
    names = [name for name in NAMES if not options.names or name in options.names]
    if options.chips:
        yield from ((name, chip) for name in names for chip in options.chips)
        return
    programs = ((name, chip) for name in names for chip in CHIPS)
    yield from (job for job in programs if job not in FAILING and job[0] not in DISTRIBUTED)
    yield from (job for job in SHARED if job[0] in names)


def _compile_rows(python: Path, options: argparse.Namespace, chip: str) -> bool:
    """Compile the operators for a chip; return whether some do not compile."""
    file = options.cache / "results" / f"rows-{chip}.jsonl"
    file.parent.mkdir(parents=True, exist_ok=True)
    if options.again:
        file.unlink(missing_ok=True)
    compile_all(python, chip, file, options.limit)
    problems = {name: text for name, text in problems_in(file).items() if text is not None}
    for name, text in problems.items():
        print(f"{name} for {chip}: {text}", flush=True)
    print(f"operators for {chip}: {len(problems)} do not compile", flush=True)
    return bool(problems)


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
