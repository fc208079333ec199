"""Bytes that each device sends and holds in a training step, against the least that is possible.

    python benchmarks/scaling.py                                       # print the table
    python benchmarks/scaling.py --table scaling.md --picture scaling.svg

Nothing runs: XLA compiles the step of one device of 2 to 64, with CPU devices of this process in
their places, and says what it sends and needs. So the figures are exact, and the same on every
machine. Beside them stand the closed forms, for P bytes of parameters that Adam trains, of which
S are in layers that tensor parallelism splits, and n devices:

- data parallelism sums P bytes of gradients over n devices: 2 P (n-1)/n bytes sent (ring or halving
  and doubling; Patarasuk and Yuan, 2009). It keeps P and two states, 3 P.
- ZeRO 2 scatters the gradients while summing them, and gathers the parameters: as many bytes. It
  keeps P + 2 P/n.
- ZeRO 3 gathers parameters for the forward and again for the backward pass: 3 P (n-1)/n bytes. It
  keeps 3 P/n.
- tensor parallelism sums A bytes of activations four times in a layer (Megatron-LM, Shoeybi et al.,
  2019): 8 A (n-1)/n bytes per layer. It keeps 3 (S/n + P - S).

At its peak a step also holds gradients and activations. What they take on one device alone, XLA
says; for n devices, what of it can be split is counted as split, and for ZeRO 3 the largest
parameter and its gradient are added, whole.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import oneflow as flow
from oneflow.base.device import set_cpu_devices
from oneflow.plan import Plan, plan_graph, planning

sys.path.insert(0, str(Path(__file__).parents[1]))
from examples import plans

DEVICES = (2, 4, 8, 16, 32, 64)
LAYERS, WIDTH, CONTEXT = 2, 512, 64
# Data parallelism splits a large batch, tensor parallelism the layers of a small one.
LARGE, SMALL = 64, 1
ITEM = 4
KEPT = ("parameter", "state")


@dataclass(frozen=True)
class Way:
    """A way to spread a step over devices.

    Attributes:
        name: what it is called.
        strategy: of `examples/plans.py`.
        zero: the stage of ZeRO.
        batch: sequences in a step.
        automatic: what the strategy leaves open is found for the whole step at once.
    """

    name: str
    strategy: str
    zero: int
    batch: int
    automatic: bool = False


WAYS = (
    Way("data", "data", 0, LARGE),
    Way("ZeRO 2", "data", 2, LARGE),
    Way("ZeRO 3", "data", 3, LARGE),
    Way("tensor", "tensor", 0, SMALL),
    Way("tensor, auto", "tensor", 0, SMALL, automatic=True),
)


@dataclass(frozen=True)
class Figures:
    """Bytes per device and step.

    Attributes:
        sent: to other devices.
        kept: between steps: parameters and states.
        peak: at most at one time.
    """

    sent: float
    kept: float
    peak: float


def plan_of(way: Way, devices: int, compile: bool = True, **options: Any) -> tuple[Plan, Any]:
    """The plan of a GPT's training step, and its model."""
    sizes = {"layers": LAYERS, "width": WIDTH, "context": CONTEXT, "heads": 64, **options}
    with planning():
        placement = flow.placement("cpu", range(devices))
        graph, inputs = plans.gpt(
            placement, batch=way.batch, strategy=way.strategy, zero=way.zero, **sizes
        )
        graph.config.enable_auto_parallel(way.automatic)
        return plan_graph(graph, *inputs, compile=compile), graph.model


def measured(plan: Plan) -> Figures:
    """Return the figures of a plan."""
    kept = sum(row.shard_bytes * row.count for row in plan.contents.inputs if row.kind in KEPT)
    return Figures(plan.account.sent, kept, plan.account.memory.peak)


def least(way: Way, devices: int, model: Any, alone: Figures, layers: int = LAYERS) -> Figures:
    """The closed forms.

    Args:
        way: how the step is spread.
        devices: over how many.
        model: the GPT.
        alone: the same step on one device.
        layers: of the model.
    """
    n = devices
    ends = tuple(plans.SPLITS["gpt"])
    sizes = {name: parameter.numel() * ITEM for name, parameter in model.named_parameters()}
    every = sum(sizes.values())
    split = sum(size for name, size in sizes.items() if name.endswith(ends))
    temporary = alone.peak - alone.kept - every
    if way.strategy == "tensor":
        context, width = model.positions.shape
        activations = way.batch * context * width * ITEM
        held = split / n + every - split
        sent = 4 * layers * 2 * activations * (n - 1) / n
        return Figures(sent, 3 * held, 4 * held + temporary / n)
    sent = (3 if way.zero == 3 else 2) * every * (n - 1) / n
    kept = {0: 3 * every, 2: every + 2 * every / n, 3: 3 * every / n}[way.zero]
    gradients = every if way.zero == 0 else every / n
    whole = 2 * max(sizes.values()) if way.zero == 3 else 0
    return Figures(sent, kept, kept + gradients + whole + temporary / n)


def table(rows: list[tuple[Way, int, Figures, Figures]]) -> str:
    """The figures as a table in Markdown."""
    lines = [
        "| way | devices | sends | least | keeps | least | peak | least |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for way, devices, found, bound in rows:
        cells = [
            f"{size / 2**20:.2f}"
            for pair in zip(vars(found).values(), vars(bound).values(), strict=True)
            for size in pair
        ]
        lines.append(f"| {way.name} | {devices} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def draw(rows: list[tuple[Way, int, Figures, Figures]], path: Path) -> None:
    """One picture for what is sent, one for the peak; dashed: the least."""
    import matplotlib

    matplotlib.use("svg")
    # The same picture from the same figures.
    matplotlib.rcParams["svg.hashsalt"] = "scaling"
    from matplotlib import pyplot

    figure, both = pyplot.subplots(1, 2, figsize=(10, 4), layout="constrained")
    for axes, what, title in zip(
        both, ("sent", "peak"), ("sent per device and step", "memory per device, peak"), strict=True
    ):
        for colour, way in enumerate(WAYS):
            mine = [row for row in rows if row[0] is way]
            devices = [row[1] for row in mine]
            style = {"color": f"C{colour}"}
            axes.plot(
                devices,
                [getattr(row[2], what) / 2**20 for row in mine],
                marker="o",
                label=way.name,
                **style,
            )
            axes.plot(devices, [getattr(row[3], what) / 2**20 for row in mine], "--", **style)
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        axes.set_xticks(DEVICES, DEVICES)
        axes.set_xlabel("devices")
        axes.set_ylabel("MiB")
        axes.set_title(title)
        axes.grid(alpha=0.3)
    both[0].legend()
    figure.savefig(path, metadata={"Date": None})


def main() -> None:
    """Measure, print, and write what was asked for."""
    from tqdm import tqdm

    set_cpu_devices(max(DEVICES))
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--table", type=Path, help="write the table here")
    parser.add_argument("--picture", type=Path, help="draw it here")
    options = parser.parse_args()
    rows = []
    with tqdm(total=len(WAYS) * (1 + len(DEVICES)), desc="compiling") as bar:
        for way in WAYS:
            alone = measured(plan_of(way, 1)[0])
            bar.update()
            for devices in DEVICES:
                plan, model = plan_of(way, devices)
                rows.append((way, devices, measured(plan), least(way, devices, model, alone)))
                bar.update()
    text = table(rows)
    print(text, end="")
    if options.table:
        options.table.write_text(text)
    if options.picture:
        draw(rows, options.picture)


if __name__ == "__main__":
    main()
