"""Times recorded calls beside PyTorch's: ``python -m tools.slow_spots.measure``.

Both run in one process by turns, so that both meet what else the machine is doing. A call that has
a result is not run again.
"""

from __future__ import annotations

import functools
import json
import math
import sys
import time
from collections.abc import Callable, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import jax
import numpy as np
import torch
from tools.slow_spots.calls import Call, TensorArgument
from tools.torch_tests.results import FAILED, PASSED, SKIPPED, STARTED, Result, Results

import oneflow as flow
from oneflow.jax.arrays import to_jax

# Seconds for the runs of a call, and the fewest of them.
_SECONDS, _ROUNDS = 0.25, 8
# Elements of a call's tensors, all together, above which it is left out.
_MAX_ELEMENTS = 2**25
_DTYPES = "float32", "bfloat16"


# One thread is measured in processor time, which knows nothing of other processes.
_CLOCKS = {1: time.process_time}


def main(calls: Path, results: Path, part: str, threads: int) -> None:
    """Time the calls that hold a text and have no result."""
    torch.set_num_threads(threads)
    clock = _CLOCKS.get(threads, time.perf_counter)
    found = Results(results)
    for text, _ in ordered(calls):
        for dtype in _DTYPES:
            name = f"{dtype} {text}"
            if part in name and name not in found.by_test:
                found.add(Result(name, STARTED))
                found.add(measure(name, _in_dtype(Call.of_text(text), dtype), clock))


def ordered(file: Path) -> list[tuple[str, int]]:
    """Each call, and how often models make it: of every function the largest, then the next."""
    counts: dict[str, int] = {}
    for line in file.read_text().splitlines():
        for text, times in json.loads(line)["calls"].items():
            counts[text] = counts.get(text, 0) + times
    turns: dict[str, count] = {}
    keys = {}
    for text in sorted(counts, key=lambda text: -_elements(Call.of_text(text))):
        turn = turns.setdefault(Call.of_text(text).function, count())
        keys[text] = next(turn)
    return [(text, counts[text]) for text in sorted(counts, key=lambda text: keys[text])]


def _elements(call: Call) -> int:
    return sum(math.prod(tensor.shape) for tensor in call.tensors())


def _in_dtype(call: Call, dtype: str) -> Call:
    return call.replace(lambda x: x._replace(dtype=dtype) if x.is_floating else x)


def measure(name: str, call: Call, clock: Callable[[], float]) -> Result:
    """Time a call here and on PyTorch.

    Args:
        name: of the result.
        call: the call.
        clock: says the time in seconds.
    """
    if _elements(call) > _MAX_ELEMENTS:
        return Result(name, SKIPPED, "too large")
    try:
        ours, theirs = _Runs(flow, call), _Runs(torch, call)
        if theirs.views():
            return Result(name, SKIPPED, "a view")
        times = {"forward": _times(ours.forward, theirs.forward, clock)}
        if theirs.wanted:
            times["both"] = _times(ours.both, theirs.both, clock)
    except Exception as error:
        return Result(name, FAILED, f"{type(error).__name__}: {error}"[:300])
    return Result(name, PASSED, json.dumps(times))


def _times(
    ours: Callable[[], Any], theirs: Callable[[], Any], clock: Callable[[], float]
) -> tuple[float, float]:
    """The shortest runs of two functions, in milliseconds.

    From this package's is taken what every program takes, as a model is one program.
    """
    functions = ours, theirs, _EMPTY.forward
    for function in functions:
        function()
    start, rounds = time.time(), 0
    shortest = [math.inf for _ in functions]
    while rounds < _ROUNDS or time.time() < start + _SECONDS:
        for which, function in enumerate(functions):
            begin = clock()
            function()
            shortest[which] = min(shortest[which], clock() - begin)
        rounds += 1
    hot, expected, empty = (seconds * 1e3 for seconds in shortest)
    return round(max(hot - empty, 1e-3), 4), round(expected, 4)


class _Runs:
    """A call on one framework.

    Args:
        framework: this package, or PyTorch.
        call: the call.

    Attributes:
        wanted: the tensors whose gradients are computed.
    """

    def __init__(self, framework: Any, call: Call) -> None:
        self._framework = framework
        self.wanted: list[Any] = []
        rng = np.random.default_rng(0)
        sizes = [size for x in call.tensors() if x.is_floating for size in x.shape]
        limit = max(min(sizes, default=2), 1)  # of indices: they fit every dimension
        self._call = call.replace(functools.partial(self._tensor, rng, limit))
        _, *path = call.function.split(".")
        self._function = functools.reduce(getattr, path, framework)
        self._seeds = [
            framework.ones_like(tensor) for tensor in self._differentiable() if self.wanted
        ]

    def _tensor(self, rng: np.random.Generator, limit: int, argument: TensorArgument) -> Any:
        shape, dtype = argument.shape, getattr(self._framework, argument.dtype)
        if argument.is_floating:
            tensor = self._framework.from_numpy(rng.standard_normal(shape, np.float32)).to(dtype)
        else:
            tensor = self._framework.from_numpy(rng.integers(0, limit, shape)).to(dtype)
        if argument.requires_grad and argument.is_floating:
            self.wanted.append(tensor.requires_grad_())
        return tensor

    def _differentiable(self) -> list[Any]:
        outputs = self._function(*self._call.args, **self._call.kwargs)
        outputs = outputs if isinstance(outputs, Sequence) else [outputs]
        return [output for output in outputs if getattr(output, "requires_grad", False)]

    def views(self) -> bool:
        """Return whether the results are views, whose copies here are not to be compared."""
        results = self._function(*self._call.args, **self._call.kwargs)
        tensors = results if isinstance(results, Sequence) else [results]
        return any(x._is_view() for x in tensors if isinstance(x, torch.Tensor))

    def forward(self) -> Any:
        """Compute the results."""
        with self._framework.no_grad():
            results = self._function(*self._call.args, **self._call.kwargs)
            self._wait(results if isinstance(results, Sequence) else [results])

    def both(self) -> Any:
        """Compute the results and the gradients."""
        outputs = self._differentiable()
        gradients = self._framework.autograd.grad(
            outputs, self.wanted, self._seeds, allow_unused=True
        )
        self._wait(gradients)

    def _wait(self, tensors: Sequence[Any]) -> None:
        if self._framework is flow:
            flow.eager.synchronize()
            found = [tensor.detach() for tensor in tensors if isinstance(tensor, flow.Tensor)]
            jax.block_until_ready(to_jax(found))


# The shortest program.
_EMPTY = _Runs(flow, Call("torch.neg", (TensorArgument((1,), "float32", False),), {}))

if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], int(sys.argv[4]))
