"""Wide & Deep (https://arxiv.org/abs/1606.07792) as a job function of OneFlow 0.3, beside today's.

The tables of embeddings are split over two devices of the CPU. Both train from the same variables,
and give the same losses.

    python examples/legacy/wide_and_deep.py --steps 20
"""

import itertools
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import oneflow as today
import oneflow.typing as tp
from oneflow import nn
from oneflow.compatible import single_client as flow

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parent))
from command_line import make_parser, run
from twins import give_variables, losses_of, print_losses

LEARNING_RATE = 0.01
DEVICES = 2


@dataclass(frozen=True)
class Size:
    """Sizes of the network and of its batches.

    Attributes:
        rows: of the tables.
        fields: categories of a sample.
        numbers: further features of a sample.
        features: of a row of the deep table.
        hidden: units of the hidden layers.
        batch: samples of a batch.
    """

    rows: int = 10000
    fields: int = 26
    numbers: int = 13
    features: int = 16
    hidden: tuple[int, ...] = (128, 128)
    batch: int = 512


def table(name, size, features):
    """Return a table of embeddings whose rows are split over the devices."""
    return flow.get_variable(
        name=f"{name}-weight",
        shape=(size.rows, features),
        initializer=flow.random_uniform_initializer(minval=-0.05, maxval=0.05),
        distribute=flow.distribute.split(0),
    )


def make_job(size):
    """Return the training job."""

    @flow.global_function(type="train")
    def train_job(
        numbers: tp.Numpy.Placeholder((size.batch, size.numbers), dtype=flow.float),
        categories: tp.Numpy.Placeholder((size.batch, size.fields), dtype=flow.int32),
        clicked: tp.Numpy.Placeholder((size.batch, 1), dtype=flow.float),
    ) -> tp.Numpy:
        wide = flow.gather(table("wide", size, 1), categories)
        wide = flow.math.reduce_sum(flow.reshape(wide, (size.batch, -1)), axis=1, keepdims=True)
        deep = flow.gather(table("deep", size, size.features), categories)
        x = flow.concat([flow.reshape(deep, (size.batch, -1)), numbers], axis=1)
        for number, units in enumerate(size.hidden):
            x = flow.layers.dense(
                x, units, flow.math.relu, kernel_initializer=flow.glorot_uniform_initializer(),
                name=f"hidden-{number}",
            )  # fmt: skip
        logits = wide + flow.layers.dense(
            x, 1, kernel_initializer=flow.glorot_uniform_initializer(), name="last"
        )
        loss = flow.nn.sigmoid_cross_entropy_with_logits(clicked, logits)
        schedule = flow.optimizer.PiecewiseConstantScheduler([], [LEARNING_RATE])
        flow.optimizer.Adam(schedule, do_bias_correction=True).minimize(loss)
        return loss

    return train_job


class WideAndDeep(nn.Module):
    """The same network as a module of today."""

    def __init__(self, size):
        super().__init__()
        self.wide = nn.Embedding(size.rows, 1)
        self.deep = nn.Embedding(size.rows, size.features)
        widths = (size.fields * size.features + size.numbers, *size.hidden)
        self.hidden = nn.ModuleList(
            [nn.Linear(*pair) for pair in zip(widths, size.hidden, strict=False)]
        )
        self.last = nn.Linear(size.hidden[-1], 1)

    def forward(self, numbers, categories):
        """Return the logits."""
        x = today.cat([self.deep(categories).flatten(1), numbers], dim=1)
        for layer in self.hidden:
            x = layer(x).relu()
        return self.wide(categories).sum(1) + self.last(x)


class TrainGraph(nn.Graph):
    """A training step of today, with the tables split over the devices."""

    def __init__(self, size):
        super().__init__()
        placement = today.placement("cpu", range(DEVICES))
        self.model = WideAndDeep(size)
        give_variables(self.model)
        for layer in (self.model.wide, self.model.deep):
            layer.to_global(placement=placement, sbp=today.sbp.split(0))
        for layer in (*self.model.hidden, self.model.last):
            layer.to_global(placement=placement, sbp=today.sbp.broadcast)
        self.placement = placement
        self.add_optimizer(today.optim.Adam(self.model.parameters(), LEARNING_RATE))

    def build(self, numbers, categories, clicked):
        """Return the mean loss of a batch."""
        logits = self.model(numbers, categories)
        loss = nn.functional.binary_cross_entropy_with_logits(logits, clicked)
        loss.backward()
        return loss

    def step(self, **batch):
        """Train on a batch that all devices share."""
        rows = today.sbp.split(0)
        return self(
            **{
                name: tensor.to_global(self.placement, today.sbp.broadcast).to_global(sbp=rows)
                for name, tensor in batch.items()
            }
        )


def random_batch(size, rng):
    """Return the arguments of a step."""
    categories = rng.integers(0, size.rows, (size.batch, size.fields)).astype(np.int32)
    return {
        "numbers": rng.standard_normal((size.batch, size.numbers), np.float32),
        "categories": categories,
        "clicked": (categories[:, :1] % 2).astype(np.float32),
    }


def train(size, steps):
    """Return the losses of each step, of the job and of the graph."""
    flow.manual_seed(0)
    flow.config.cpu_device_num(DEVICES)
    rng = np.random.default_rng(0)
    batches = itertools.islice(itertools.cycle([random_batch(size, rng) for _ in range(4)]), steps)
    job = make_job(size)
    return losses_of(job, TrainGraph(size).step, batches)


def main():
    """Train both and print their losses."""
    parser = make_parser(__doc__)
    parser.add_argument("--steps", type=int, default=20, help="steps of both")
    print_losses(train(Size(), parser.parse_args().steps))


if __name__ == "__main__":
    run(main)
