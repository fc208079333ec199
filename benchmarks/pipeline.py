"""The bubble of a pipeline, and what its stages keep, against what one forward one backward gives.

    python benchmarks/pipeline.py
    python benchmarks/pipeline.py --picture pipeline.svg

A step of S equal stages (layers of a perceptron) on one device each, with n micro batches. Every
task is timed by itself, for the devices here share their cores; the median of the tasks that are
alike is put where the schedule puts them. The promise: a share of (S-1)/(S-1+n) of the time each
stage waits, and stage s keeps the activations of min(n, S-s) micro batches.
"""

from __future__ import annotations

import argparse
import statistics
from collections import defaultdict
from pathlib import Path
from typing import Any

import oneflow as flow
from oneflow.base.device import set_cpu_devices
from oneflow.graph.schedule import idle_fraction, timeline
from oneflow.passes.partition import PipelineTask

STAGES, MICRO_BATCHES = (2, 4, 8), (4, 8, 16)
WIDTH, ROWS, LAYERS, ROUNDS = 512, 64, 4, 5
BROADCAST = flow.sbp.broadcast


class Training(flow.nn.Graph):
    """A training step of a perceptron in stages."""

    def __init__(self, stages: int, micro_batches: int) -> None:
        super().__init__()
        self.places = [flow.placement("cpu", [rank]) for rank in range(stages)]
        self.layers = flow.nn.ModuleList(
            flow.nn.Sequential(
                *(
                    flow.nn.Sequential(flow.nn.Linear(WIDTH, WIDTH), flow.nn.ReLU())
                    for _ in range(LAYERS)
                )
            ).to_global(place, BROADCAST)
            for place in self.places
        )
        for number, place in enumerate(self.places):
            self.layers[number].config.set_stage(number, place)
        self.config.set_gradient_accumulation_steps(micro_batches)
        self.add_optimizer(flow.optim.SGD(self.layers.parameters(), lr=0.01))

    def build(self, x: flow.Tensor) -> flow.Tensor:
        """The losses of the micro batches."""
        for layer in self.layers:
            x = layer(x)
        loss = x.square().mean()
        loss.backward()
        return loss


def run(stages: int, micro_batches: int) -> tuple[Training, Any]:
    """A graph after the call that is timed, and its pipeline."""
    graph = Training(stages, micro_batches)
    x = flow.randn(ROWS * micro_batches, WIDTH, placement=graph.places[0], sbp=BROADCAST)
    for _ in range(2):
        graph(x)
    (step,) = graph._steps.values()
    return graph, step.executable


def measure(stages: int, micro_batches: int) -> tuple[Training, float, list[int]]:
    """The graph, the share of time in which stages wait, and how many micro batches each keeps."""
    runs = [run(stages, micro_batches) for _ in range(ROUNDS)]
    graph, pipeline = runs[-1]
    tasks = pipeline.partition.tasks
    times: dict[tuple, list[float]] = defaultdict(list)
    for _, measured in runs:
        for index, seconds in measured.durations.items():
            times[tasks[index].placement, tasks[index].phase.kind].append(seconds)
    medians = {key: statistics.median(time) for key, time in times.items()}

    def duration(task: PipelineTask) -> float:
        # Updates and what comes before the first micro batch are no part of the schedule.
        ours = task.phase.kind in ("forward", "backward")
        return medians[task.placement, task.phase.kind] if ours else 0.0

    bubbles = idle_fraction(tasks, timeline(tasks, pipeline.order, duration))
    return (
        graph,
        statistics.mean(bubbles.values()),
        list(pipeline.max_live_micro_batches().values()),
    )


def main() -> None:
    """Print the table; draw the last schedule if asked for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--picture", type=Path, help="draw the schedule of 4 stages, 8 micro batches"
    )
    options = parser.parse_args()
    set_cpu_devices(max(STAGES))
    print("| stages | micro batches | waits | promised | keeps, by stage | promised |")
    print("| ---: | ---: | ---: | ---: | --- | --- |")
    for stages in STAGES:
        for count in MICRO_BATCHES:
            graph, bubbles, kept = measure(stages, count)
            promised = (stages - 1) / (stages - 1 + count)
            bound = [min(count, stages - stage) for stage in range(stages)]
            print(
                f"| {stages} | {count} | {bubbles:.3f} | {promised:.3f} "
                f"| {' '.join(map(str, kept))} | {' '.join(map(str, bound))} |",
                flush=True,
            )
            if options.picture and (stages, count) == (4, 8):
                graph.draw_schedule(options.picture)


if __name__ == "__main__":
    main()
