"""Training steps and models as one program: `nn.Graph` and its rivals, in turns.

    python benchmarks/graph.py                   # the quick ones
    python benchmarks/graph.py --all             # with the large vision models
    python benchmarks/graph.py --inference       # the models alone, without training
    python benchmarks/graph.py --overhead        # cost of a call with 160 parameters
    python benchmarks/graph.py mlp gpt --without-compile
    python benchmarks/graph.py --device cuda --mixed  # on a GPU, under autocast to bfloat16

Rivals are `torch.compile` of the same source, PyTorch and OneFlow in eager mode, and, where there
is one, a hand-written and donated `jax.jit` step. Every figure is the median over the rounds; in a
round each runs the same number of steps and reads the loss once, at the end. The results of models
without training are read every time.
"""

from __future__ import annotations

import argparse
import functools
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.rivals import inference_step, measure, training_step
from benchmarks.workloads import ACCELERATOR_WORKLOADS, WORKLOADS
from oneflow.base.x64 import x64
from oneflow.tensor.views import unwrap

RIVALS = ("graph", "oneflow", "torch", "torch.compile", "jax.jit")


def call_overhead(rounds: int = 21, calls: int = 100) -> tuple[float, float]:
    """Microseconds per call of a graph with 160 parameters, and of the bare executable."""
    import oneflow
    from oneflow import nn

    model = nn.Sequential(*(nn.Linear(4, 4) for _ in range(80)))
    optimizer = oneflow.optim.SGD(model.parameters(), lr=1e-3)

    class Step(nn.Graph):
        def __init__(self):
            super().__init__()
            self.model = model
            self.add_optimizer(optimizer)

        def build(self, x):
            loss = self.model(x).sum()
            loss.backward()
            return loss

    graph, x = Step(), oneflow.randn(2, 4)
    graph(x).item()
    (step,) = graph._steps.values()
    bare = bare_calls(step, x)
    times: dict[Callable, list[float]] = {bare: [], lambda: graph(x): []}
    for _ in range(rounds):
        for function, values in times.items():
            start = time.perf_counter()
            for _ in range(calls):
                result = function()
            np.asarray(result)
            values.append((time.perf_counter() - start) / calls * 1e6)
    of_bare, of_graph = map(statistics.median, times.values())
    return of_graph, of_bare


def bare_calls(step, x) -> Callable:
    """Return a function that only calls the step's executable, keeping the state in a list."""
    run = step.executable._compiled
    argument = unwrap(x).read()
    state = [unwrap(tensor).read().copy() for tensor in step.binding.variables]
    numbers = step.executable._number_arguments(step.numbers) if step.numbers else ()

    def call():
        nonlocal state
        with x64():
            *state, loss = run(argument, *state, *numbers)
        return loss

    return call


def row(name: str, medians: dict[str, float]) -> str:
    """One line of the Markdown table."""
    cells = [f"{medians[key] * 1e3:.2f}" if key in medians else "" for key in RIVALS]
    ratios = [
        f"{medians['graph'] / medians[key]:.2f}" if key in medians else ""
        for key in ("torch.compile", "torch", "jax.jit")
    ]
    return f"| {name} | {' | '.join(cells + ratios)} |"


def main() -> None:
    """Run the chosen workloads and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="workloads to run; default: the quick ones")
    parser.add_argument("--all", action="store_true", help="run the slow ones as well")
    parser.add_argument("--inference", action="store_true", help="the models alone")
    parser.add_argument("--overhead", action="store_true", help="only the cost of a call")
    parser.add_argument("--without-compile", action="store_true", help="leave out torch.compile")
    parser.add_argument("--device", default="cpu", help="training steps on such a device, as cuda")
    parser.add_argument("--mixed", action="store_true", help="training under bfloat16 autocast")
    options = parser.parse_args()
    if options.overhead:
        of_graph, of_bare = call_overhead()
        ratio = of_graph / of_bare
        print(f"call of a graph {of_graph:.0f} us, bare {of_bare:.0f} us, ratio {ratio:.2f}")
        return
    workloads = WORKLOADS
    if options.device != "cpu":
        workloads = ACCELERATOR_WORKLOADS
        # The rivals share the accelerator.
        os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    known = {workload.name: workload for workload in workloads if workload.name != "chain"}
    unknown = [name for name in options.names if name not in known]
    if unknown:
        parser.error(f"unknown workload {unknown[0]!r}; known: {', '.join(known)}")
    chosen = [known[name] for name in options.names] or [
        workload for workload in known.values() if options.all or not workload.slow
    ]
    heads = ("graph ms", "oneflow eager ms", "torch eager ms", "torch.compile ms", "jax.jit ms")
    ratios = ("/ torch.compile", "/ torch eager", "/ jax.jit")
    steps = functools.partial(training_step, device=options.device, mixed=options.mixed)
    build = inference_step if options.inference else steps
    left_out = ["torch.compile"] * options.without_compile + ["jax.jit"] * options.mixed
    rivals = [name for name in RIVALS if name not in left_out]
    what = "inference" if options.inference else "training step"
    print(f"| {what} | {' | '.join(heads + ratios)} |")
    print(f"|{'---|' * 9}", flush=True)
    for workload in chosen:
        medians = measure(build, workload, rivals)
        print(row(workload.name, medians), flush=True)


if __name__ == "__main__":
    main()
