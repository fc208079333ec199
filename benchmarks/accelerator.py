"""The speed of models on an accelerator in OneFlow, PyTorch and hand-written JAX, in some minutes.

    make accelerator                          # on a machine with a GPU or a TPU, offline
    make accelerator BENCH_ARGS=--fresh       # forget what was measured before
    python benchmarks/accelerator.py gpt2     # one model alone

First come the tests of another device, then one process for each model and each way to run it, the
most valuable ones first; each has its own limit of time, and all of them together that of
`--minutes`. What is done is kept in `benchmarks/output/`, and is not done again by a second run.
The tables that it prints are those of RESULTS.md. Without an accelerator sizes shrink, and the
numbers show only that everything runs.
"""

from __future__ import annotations

import argparse
import glob
import gzip
import importlib
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.models.training import in_bfloat16
from benchmarks.rivals import RIVALS
from benchmarks.workloads import Workload, read

ROOT = Path(__file__).parents[1]
OUTPUT = ROOT / "benchmarks" / "output" / "accelerator.json"
WAYS = ("graph", "jax.jit", "torch.compile", "torch", "oneflow")
# Seconds: of the tests, of one model in one way, and of the steps that are timed in it.
TESTS_LIMIT, PART_LIMIT, TIMED = 110, 75, 4.0
# Dense bfloat16 operations in a second, by what the device calls itself.
PEAKS = {
    "B200": 2250e12,
    "H200": 989e12,
    "H100": 989e12,
    "A100": 312e12,
    "L4": 121e12,
    "TPU v5 lite": 197e12,
    "TPU v5": 459e12,
    "TPU v6": 918e12,
}


@dataclass(frozen=True)
class Model:
    """A row of the table.

    Attributes:
        workload: the step; its options are the sizes on an accelerator.
        small: options instead of those where there is none.
        flops: operations of one step with these options.
        mixed: products are computed in bfloat16.
        inference: the model alone is run.
    """

    workload: Workload
    small: Mapping[str, Any]
    flops: Callable[[Mapping[str, Any]], float]
    mixed: bool = False
    inference: bool = False


def decoder_flops(sizes: Mapping[str, Any]) -> float:
    """The work of a decoder's training step: three times the products of the forward pass."""
    batch, context, vocabulary = sizes["batch"], sizes["context"], sizes["vocabulary"]
    width, layers = sizes["width"], sizes["layers"]
    projections, perceptron = 4.0, 8 * width * width
    if "hidden" in sizes:
        projections = 2 + 2 * sizes["groups"] / sizes["heads"]
        perceptron = 3 * width * sizes["hidden"]
    weights = layers * (projections * width * width + perceptron) + vocabulary * width
    attention = layers * 2 * context * width
    return 6.0 * batch * context * (weights + attention)


def encoder_flops(sizes: Mapping[str, Any]) -> float:
    """The work of one run of an encoder."""
    length, width = sizes["length"], 768
    products = sizes.get("layers", 12) * (12 * width * width + 2 * length * width)
    return 2.0 * sizes["batch"] * length * products


def convolution_flops(sizes: Mapping[str, Any]) -> float:
    """The work of a training step of ResNet-50."""
    return 6.0 * 4.1e9 * sizes["batch"] * (sizes.get("size", 224) / 224) ** 2


GPT2 = {"batch": 8, "context": 1024, "vocabulary": 50304, "width": 768, "heads": 12, "layers": 12}
LLAMA = {
    "batch": 4,
    "context": 1024,
    "vocabulary": 32000,
    "width": 2048,
    "hidden": 8192,
    "heads": 32,
    "groups": 8,
    "layers": 16,
}
SMALL = {"batch": 2, "context": 32, "vocabulary": 128, "width": 64, "heads": 4, "layers": 2}
PERCEPTRON_WEIGHTS = 784 * 512 + 512 * 512 + 512 * 10
MODELS = {
    "perceptron": Model(
        Workload("mlp", 0, 0, has_jax=True), {}, lambda sizes: 6.0 * 32 * PERCEPTRON_WEIGHTS
    ),
    "gpt2": Model(
        Workload("gpt", 0, 0, has_jax=True, options=GPT2), SMALL, decoder_flops, mixed=True
    ),
    "llama": Model(
        Workload("llama", 0, 0, has_jax=True, options=LLAMA),
        SMALL | {"hidden": 128, "groups": 2},
        decoder_flops,
        mixed=True,
    ),
    "resnet50": Model(
        Workload("resnet50", 0, 0, has_jax=True, options={"batch": 64}),
        {"batch": 1, "size": 64},
        convolution_flops,
        mixed=True,
    ),
    "bert": Model(
        Workload("bert", 0, 0, has_jax=True, options={"batch": 32, "length": 128}),
        {"batch": 1, "length": 16, "layers": 2},
        encoder_flops,
        mixed=True,
        inference=True,
    ),
    "lenet": Model(Workload("lenet", 0, 0), {}, lambda sizes: 6.0 * 64 * 1.3e6),
}


# --- one model in one way, in a process of its own


def build_step(model: Model, way: str, device: str, options: Mapping[str, Any]) -> Callable:
    """The step."""
    name = model.workload.name
    if way == "jax.jit":
        return _build_jax(model, options)
    library = importlib.import_module(RIVALS[way].library)
    library.manual_seed(0)
    module = importlib.import_module(f"benchmarks.models.{name}")
    if device != "cpu":
        library.set_float32_matmul_precision("high")
    with library.device(device):
        if model.inference:
            run = RIVALS[way].inference
            dtype = "bfloat16" if device != "cpu" else "float32"
            return module.build(library, lambda parts: run(library, parts), dtype=dtype, **options)
        run = RIVALS[way].training

        def make_step(training: Any) -> Callable:
            return run(in_bfloat16(training, library, device) if model.mixed else training)

        return module.build(library, make_step=make_step, **options)


def _build_jax(model: Model, options: Mapping[str, Any]) -> Callable:
    import jax.numpy as jnp

    if model.inference:
        module = importlib.import_module("benchmarks.jax_steps.bert_base")
        return module.build_inference(**options, dtype=jnp.bfloat16)
    module = importlib.import_module(f"benchmarks.jax_steps.{model.workload.name}")
    mixed = {"dtype": jnp.bfloat16} if model.mixed else {}
    return module.build(**options, **mixed)


def synchronize(result: Any) -> None:
    """Wait until a step has finished, without a transfer of its result."""
    if hasattr(result, "block_until_ready"):
        result.block_until_ready()
    else:
        read(result.flatten()[:1])


def measure(step: Callable, way: str) -> dict[str, float]:
    """Seconds of the first step, until steps are compiled, and of a steady one."""
    started = time.perf_counter()
    synchronize(step())
    first = time.perf_counter() - started
    compiled = first
    if way in RIVALS and RIVALS[way].library == "oneflow":
        import oneflow as flow

        for _ in range(3):
            synchronize(step())
            flow.eager.synchronize()
        compiled = time.perf_counter() - started
    begin = time.perf_counter()
    synchronize(step())
    steps = max(1, min(50, int(TIMED / 5 / (time.perf_counter() - begin + 1e-9))))
    rounds = []
    for _ in range(5):
        begin = time.perf_counter()
        for _ in range(steps - 1):
            step()
        synchronize(step())
        rounds.append((time.perf_counter() - begin) / steps)
    return {"first": first, "compiled": compiled, "step": statistics.median(rounds)}


def launches(step: Callable, library: str) -> int | None:
    """Kernels on the device in one step, from a profile; None where none is seen."""
    if library == "torch":
        from torch.profiler import profile

        with profile() as trace:
            synchronize(step())
        return sum("CUDA" in str(event.device_type) for event in trace.events() or ()) or None
    import jax

    with tempfile.TemporaryDirectory() as folder:
        with jax.profiler.trace(folder):
            synchronize(step())
        files = glob.glob(f"{folder}/**/*.trace.json.gz", recursive=True)
        events = [event for file in files for event in _events(file)]
    devices = {
        event["pid"]
        for event in events
        if event.get("name") == "process_name" and "/device:" in event["args"]["name"]
    }
    streams = {
        (event["pid"], event["tid"])
        for event in events
        if event.get("name") == "thread_name" and "Stream" in event["args"]["name"]
    }
    count = sum(
        event.get("ph") == "X"
        and event["pid"] in devices
        and (event["pid"], event["tid"]) in streams
        for event in events
    )
    return count or None


def _events(file: str) -> list[dict[str, Any]]:
    with gzip.open(file) as content:
        return json.load(content)["traceEvents"]


def peak_bytes(library: str, device: str) -> int:
    """The most memory that was in use, of the device or, on a CPU, of the process."""
    if device == "cpu":
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    if library == "torch":
        import torch

        return torch.cuda.max_memory_allocated()
    import jax

    statistics_of_device = jax.local_devices()[0].memory_stats() or {}
    return statistics_of_device.get("peak_bytes_in_use", 0)


def run_part(name: str, way: str, device: str) -> None:
    """Measure one model in one way, and print that as JSON."""
    model = MODELS[name]
    options = model.small if device == "cpu" else model.workload.options
    library = RIVALS[way].library if way in RIVALS else "jax"
    started = time.perf_counter()
    step = build_step(model, way, device, options)
    result: dict[str, Any] = {"built": time.perf_counter() - started, **measure(step, way)}
    result["bytes"] = peak_bytes(library, device)
    print(json.dumps(result), flush=True)  # a profile may take too long
    result["launches"] = launches(step, library)
    result["flops"] = model.flops(options)
    print(json.dumps(result), flush=True)


# --- all of them


def found_device() -> tuple[str, str]:
    """The type of the device, and its name; in another process, which gives its memory back."""
    code = "import jax; d = jax.devices()[0]; print(d.platform, d.device_kind, sep='\\n')"
    output = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True
    ).stdout.splitlines()
    platform, kind = output[-2:]
    return {"gpu": "cuda"}.get(platform, platform), kind


def run_tests(limit: float) -> str:
    """Run the tests of another device; says how many have passed and which have failed."""
    command = [sys.executable, "-m", "pytest", "-v", "-n", "0", "-k", "another_device"]
    rooms = ["tests/runtime", "tests/laws/test_operators.py"]
    output, _, ended = run_process([*command, *rooms], limit)
    lines = [line for line in output.splitlines() if "::" in line and "%]" in line]
    failed = [line.split()[0] for line in lines if " FAILED" in line or " ERROR" in line]
    passed = sum(" PASSED" in line for line in lines)
    end = "" if ended else f", unfinished after {limit:.0f} s"
    return (
        f"{passed} passed, {len(failed)} failed{end}{''.join(f'; {name}' for name in failed[:9])}"
    )


def run_process(command: list[str], limit: float) -> tuple[str, str, bool]:
    """The output of a process, its errors, and whether it ended in time."""
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(command, stdout=output, stderr=errors, text=True, cwd=ROOT)
        in_time = True
        try:
            process.wait(limit)
        except subprocess.TimeoutExpired:
            in_time = False
            process.kill()
            process.wait()
        output.seek(0)
        errors.seek(0)
        return output.read(), errors.read(), in_time


def run_limited(name: str, way: str, device: str, limit: float) -> dict[str, Any]:
    """`run_part` in a process of its own; what it had printed if it takes too long."""
    command = [sys.executable, __file__, "--part", name, way, device]
    output, errors, ended = run_process(command, limit)
    lines = [line for line in output.splitlines() if line.startswith("{")]
    if lines:
        return json.loads(lines[-1])
    reason = (errors.strip().splitlines() or ["ended by a signal"])[-1]
    return {"error": reason[-200:] if ended else f"took over {limit:.0f} s"}


def table(results: Mapping[str, Any], kind: str) -> str:
    """The Markdown table of what has been measured."""
    peak = next((flops for name, flops in PEAKS.items() if name in kind), None)
    lines = [
        "| model | way | ms a step | / jax.jit | first step s | compiled s | kernels | MFU | GiB |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for name in MODELS:
        by_hand = results.get(f"{name} jax.jit", {}).get("step")
        for way in WAYS:
            found = results.get(f"{name} {way}")
            if found is None:
                continue
            if "error" in found:
                lines.append(f"| {name} | {way} | {found['error']} | | | | | | |")
                continue
            step = found["step"]
            used = f"{found['flops'] / step / peak:.1%}" if peak and "flops" in found else ""
            ratio = f"{step / by_hand:.2f}" if by_hand else ""
            cells = [f"{step * 1e3:.3f}", ratio, f"{found['first']:.1f}"]
            cells += [f"{found['compiled']:.1f}", str(found.get("launches") or ""), used]
            lines.append(f"| {name} | {way} | {' | '.join(cells)} | {found['bytes'] / 2**30:.2f} |")
    return "\n".join(lines)


def load(kind: str, fresh: bool) -> dict[str, Any]:
    """The figures that were measured on such a device before."""
    if fresh or not OUTPUT.exists():
        return {}
    return json.loads(OUTPUT.read_text()).get(kind, {})


def save(kind: str, results: Mapping[str, Any]) -> None:
    """Keep what has been measured."""
    OUTPUT.parent.mkdir(exist_ok=True)
    known = json.loads(OUTPUT.read_text()) if OUTPUT.exists() else {}
    OUTPUT.write_text(json.dumps({**known, kind: results}, indent=1))


def parts(names: list[str]) -> list[tuple[str, str]]:
    """Models and ways, the most valuable first: what is compared with JAX, then with PyTorch."""
    pairs = [(name, way) for way in WAYS for name in names]
    ranks = {way: rank for rank, ways in enumerate([WAYS[:2], WAYS[2:]]) for way in ways}
    ordered = sorted(pairs, key=lambda pair: (ranks[pair[1]], names.index(pair[0])))
    return [
        (name, way) for name, way in ordered if way != "jax.jit" or MODELS[name].workload.has_jax
    ]


def main() -> None:
    """Run what is left to do, and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", help=f"models: {', '.join(MODELS)}; default: all")
    parser.add_argument("--minutes", type=float, default=8.0, help="for everything")
    parser.add_argument("--fresh", action="store_true", help="forget what was measured before")
    parser.add_argument("--no-tests", action="store_true", help="leave the tests out")
    parser.add_argument("--part", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    if options.part:
        run_part(*options.part)
        return
    end = time.monotonic() + 60 * options.minutes
    device, kind = found_device()
    results = load(kind, options.fresh)
    if not options.no_tests and "tests" not in results:
        results["tests"] = run_tests(min(TESTS_LIMIT, end - time.monotonic()))
        save(kind, results)
    for name, way in parts(options.names or list(MODELS)):
        left = end - time.monotonic()
        key = f"{name} {way}"
        if key in results or left < 5:
            continue
        results[key] = run_limited(name, way, device, min(PART_LIMIT, left))
        if "error" not in results[key] or left > PART_LIMIT:  # the next run has more time for it
            save(kind, results)
        print(key, {n: round(v, 4) if isinstance(v, float) else v for n, v in results[key].items()})
    print(f"\nOn {kind}; tests of another device: {results.get('tests', 'not run')}.\n")
    print(table(results, kind))


if __name__ == "__main__":
    main()
