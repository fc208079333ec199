"""The steps that are measured, and how one is timed; imports no library."""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Workload:
    """A row of the table.

    Attributes:
        name: what it is called.
        steps: steps per round.
        rounds: rounds of each library.
        has_jax: there is a version in JAX.
        slow: it is run only when asked for.
        model: the file in `models`, if not `name`.
        options: arguments of its `build`.
    """

    name: str
    steps: int
    rounds: int
    has_jax: bool = False
    slow: bool = False
    model: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)

    def build(self, package: str, *libraries: Any, **options: Any) -> Callable:
        """The training step in `models` or `jax_steps`."""
        return self._module(package).build(*libraries, **self.options, **options)

    def build_jax_inference(self) -> Callable:
        """The model alone in `jax_steps`."""
        return self._module("jax_steps").build_inference(**self.options)

    def _module(self, package: str) -> Any:
        return importlib.import_module(f"benchmarks.{package}.{self.model or self.name}")


WORKLOADS = (
    Workload("mlp", 50, 15, has_jax=True),
    Workload(
        "mlp_small",
        50,
        15,
        has_jax=True,
        model="mlp",
        options={"sizes": (64, 128, 128, 10)},
    ),
    Workload("lenet", 10, 11),
    Workload("gpt", 2, 7, has_jax=True),
    Workload("wide_deep", 10, 11),
    Workload("lstm", 2, 7),
    Workload("chain", 20, 21),
    Workload("resnet50", 1, 7, has_jax=True, slow=True),
    Workload("mobilenet_v2", 1, 9, has_jax=True, slow=True),
)
# Sizes that keep an accelerator busy.
ACCELERATOR_WORKLOADS = (
    WORKLOADS[0],
    Workload("lenet", 20, 7),
    Workload("gpt", 10, 7, has_jax=True),
    Workload(
        "gpt2",
        3,
        7,
        has_jax=True,
        model="gpt",
        options={
            "context": 512,
            "vocabulary": 50304,
            "width": 768,
            "heads": 12,
            "layers": 12,
        },
    ),
    Workload("resnet50", 3, 7, has_jax=True, options={"batch": 64}),
)


def read(result) -> float:
    """A number that depends on the whole step: forces it to finish."""
    return float(result.sum().item() if hasattr(result, "item") else result.sum())


def seconds_per_step(step: Callable, steps: int) -> float:
    """Wall-clock seconds per step over `steps` steps and one read.

    One step before does not count: what another rival has left in the caches is not its.
    """
    read(step())
    start = time.perf_counter()
    for _ in range(steps):
        result = step()
    read(result)
    return (time.perf_counter() - start) / steps
