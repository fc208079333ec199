"""One program compiled for a chip: ``python -m tools.chips.measure gpt2 h100:8 jax``."""

from __future__ import annotations

import json
import os
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import numpy as np
from jax.sharding import Mesh, PartitionSpec
from tools.chips.workloads import WORKLOADS, Workload

import oneflow as flow
from oneflow.compiler.topologies import compiling_for
from oneflow.plan import chip_named, planning
from oneflow.plan.hlo_account import account_of
from oneflow.plan.step_program import plan_step
from oneflow.plan.xla import collectives_in


@dataclass(frozen=True)
class Figures:
    """The figures of a compiled program that are compared.

    Attributes:
        bytes: that kernels read and write.
        kernels: launches.
        flops: operations of products.
        temporary: bytes of memory besides arguments and results.
        collectives: number of them.
        sent: bytes that a device sends.
        hlo: instructions of the program before it is optimized.
        seconds: of CPU time for compiling.
    """

    bytes: int
    kernels: int
    flops: int
    temporary: int
    collectives: int
    sent: float
    hlo: int
    seconds: float


def figures_of(lowered: Any) -> Figures:
    """Compile a lowered program, and read it."""
    before = lowered.as_text()
    start = time.process_time()
    compiled = lowered.compile()
    seconds = time.process_time() - start
    text = compiled.as_text()
    if "CHIPS_DUMP" in os.environ:
        Path(os.environ["CHIPS_DUMP"]).write_text(text)
    account, collectives = account_of(text), list(collectives_in(text))
    return Figures(
        account.bytes,
        account.kernels,
        account.flops,
        compiled.memory_analysis().temp_size_in_bytes,
        sum(collective.count for collective in collectives),
        sum(collective.sent for collective in collectives),
        sum(" = " in line for line in before.splitlines()),
        round(seconds, 2),
    )


def lowered_ours(workload: Workload, chip_name: str, count: int) -> Any:
    """Our program, lowered for `count` chips that share the batch."""
    chip = chip_named(chip_name)
    with planning():
        placement = flow.placement(chip.type, list(range(count)))
        dim = workload.batch_dim
        batch = flow.sbp.broadcast if dim is None else flow.sbp.split(dim)
        graph, arguments = workload.graph(placement, batch)
        step = plan_step(graph, arguments, {})
    with compiling_for(chip, count), planning():
        return step.executable().lowered()


def lowered_jax(workload: Workload, chip_name: str, count: int) -> Any:
    """JAX's program, lowered for `count` chips that share the batch."""
    chip = chip_named(chip_name)
    function, state, batch = workload.jax(chip.type)
    with compiling_for(chip, count) as devices, jax.set_mesh(Mesh(np.array(devices), ("chips",))):

        def abstract(x: Any, spec: PartitionSpec) -> Any:
            return jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=spec)

        dim = workload.batch_dim
        split = PartitionSpec() if dim is None else PartitionSpec(*(None,) * dim, "chips")
        if workload.layout is None:
            layout = jax.tree.map(lambda _: PartitionSpec(), state)
        else:
            # The new state lies as the old one, in whose place it is.
            layout = workload.layout(state)
            function = jax.jit(
                function.__wrapped__,
                donate_argnums=(0, 1, 2),
                out_shardings=(PartitionSpec(), *layout),
            )
        batch = jax.tree.map(lambda x: abstract(x, split), batch)
        return function.lower(*jax.tree.map(abstract, state, layout), *batch)


def main(name: str, chip: str, which: str) -> None:
    """Print the figures of a program as JSON."""
    chip_name, _, count = chip.partition(":")
    lower = lowered_ours if which == "ours" else lowered_jax
    print(json.dumps(asdict(figures_of(lower(WORKLOADS[name], chip_name, int(count or 1))))))


if __name__ == "__main__":
    main(*sys.argv[1:4])
