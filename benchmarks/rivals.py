"""Ways to run the same step, each in a process of its own, measured in turns.

In one process they would share what no user shares: the heap and its settings, which `oneflow`
changes, the holes that compilers leave in it, and each other's threads.
"""

from __future__ import annotations

import functools
import importlib
import multiprocessing
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from benchmarks.models.training import (
    compiled_inference,
    compiled_step,
    eager_inference,
    eager_step,
    graph_inference,
    graph_step,
    in_bfloat16,
)
from benchmarks.workloads import Workload, read, seconds_per_step


@dataclass(frozen=True)
class Rival:
    """A library and what makes its steps of a `Training`."""

    library: str
    training: Callable
    inference: Callable


# JAX is missing: its steps are written by hand.
RIVALS = {
    "oneflow": Rival("oneflow", eager_step, eager_inference),
    "graph": Rival("oneflow", graph_step, graph_inference),
    "torch": Rival("torch", eager_step, eager_inference),
    "torch.compile": Rival("torch", compiled_step, compiled_inference),
}


def training_step(
    workload: Workload, name: str, device: str = "cpu", mixed: bool = False
) -> Callable:
    """The rival's training step.

    Args:
        workload: the step.
        name: the rival; `jax.jit` runs on JAX's default device and in float32.
        device: the type of the device.
        mixed: losses are computed under `autocast` to bfloat16.
    """
    if name == "jax.jit":
        return workload.build("jax_steps")
    library = importlib.import_module(RIVALS[name].library)
    library.manual_seed(0)
    if device != "cpu":
        # As JAX and OneFlow do by default: products of float32 as TensorFloat-32.
        library.set_float32_matmul_precision("high")
    # Not all models take another way to run them; those are measured in eager mode only.
    way = RIVALS[name].training
    options = {} if way is eager_step and not mixed else {"make_step": way}
    if mixed:
        options["make_step"] = lambda training: way(in_bfloat16(training, library, device))
    with library.device(device):
        return workload.build("models", library, **options)


def inference_step(workload: Workload, name: str) -> Callable:
    """The rival's model alone; its result is read: eager mode would not compute it otherwise."""
    if name == "jax.jit":
        step = workload.build_jax_inference()
    else:
        library = importlib.import_module(RIVALS[name].library)
        way = functools.partial(RIVALS[name].inference, library)
        step = workload.build("models", library, make_step=way)
    return lambda: np.asarray(step())


def warm_up(step: Callable, name: str) -> None:
    """Run until every program is compiled."""
    for _ in range(4):
        read(step())
        if name in RIVALS and RIVALS[name].library == "oneflow":
            importlib.import_module("oneflow").eager.synchronize()


def measure(build: Callable, workload: Workload, names: Sequence[str]) -> dict[str, float]:
    """Median seconds per step of each rival, which `build(workload, name)` makes."""
    if not workload.has_jax:
        names = [name for name in names if name != "jax.jit"]
    # Not copies of this process: each imports its own library.
    context = multiprocessing.get_context("spawn")
    ends: dict[str, Any] = {}
    times: dict[str, list[float]] = {name: [] for name in names}
    try:
        for name in names:
            ends[name], theirs = context.Pipe()
            with theirs:
                context.Process(target=_serve, args=(theirs, build, workload, name)).start()
            _reply(ends[name], name)  # they compile one after the other
        for _ in range(workload.rounds):
            for name, end in ends.items():
                end.send(workload.steps)
                times[name].append(_reply(end, name))
    finally:
        for end in ends.values():
            end.close()  # which ends its process
    for process in multiprocessing.active_children():
        process.join()
    return {name: statistics.median(values) for name, values in times.items()}


def _reply(end: Connection, name: str) -> Any:
    try:
        return end.recv()
    except EOFError:
        raise SystemExit(f"{name} ended before its measurement; its error is above") from None


def _serve(end: Connection, build: Callable, workload: Workload, name: str) -> None:
    step = build(workload, name)
    warm_up(step, name)
    end.send("ready")
    while True:
        try:
            steps = end.recv()
        except EOFError:
            return
        end.send(seconds_per_step(step, steps))
