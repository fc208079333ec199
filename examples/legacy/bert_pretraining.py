"""A step of BERT's pretraining as a job function of OneFlow 0.3, beside today's module.

Random tokens are masked and guessed, and a second loss says whether two sentences follow each
other. Both train from the same variables, and give the same losses.

    python examples/legacy/bert_pretraining.py --steps 20
"""

import itertools
import math
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import oneflow as today
import oneflow.typing as tp
from oneflow import nn

# Names such as `gather` mean here what they meant then.
from oneflow.compatible import single_client as flow

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parent))
from command_line import make_parser, run
from twins import give_variables, losses_of, print_losses

LEARNING_RATE = 1e-3


@dataclass(frozen=True)
class Size:
    """Sizes of the network and of its batches.

    Attributes:
        vocabulary: number of tokens.
        length: tokens of a sample.
        masked: how many of them are guessed.
        width: features of a token.
        heads: of the attention.
        layers: of the encoder.
        batch: samples of a batch.
    """

    vocabulary: int = 1000
    length: int = 64
    masked: int = 10
    width: int = 128
    heads: int = 4
    layers: int = 2
    batch: int = 8


# --- as a job function


def initializer():
    """Return BERT's initializer."""
    return flow.truncated_normal(0.02)


def dense(x, units, name, activation=None):
    """Return a fully connected layer."""
    return flow.layers.dense(
        x, units, activation, kernel_initializer=initializer(), name=name
    )  # fmt: skip


def layer_norm(x, name):
    """Return features normalised for each token."""
    return flow.layers.layer_norm(x, begin_norm_axis=2, epsilon=1e-12, name=name)


def embeddings(tokens, types, size):
    """Return the sum of three embeddings of each token, normalised."""
    tables = {"word": size.vocabulary, "position": size.length, "segment": 2}
    word, position, segment = (
        flow.get_variable(f"{name}-weight", (rows, size.width), initializer=initializer())
        for name, rows in tables.items()
    )
    total = flow.gather(word, tokens) + flow.gather(segment, types)
    return layer_norm(total + flow.expand_dims(position, 0), "norm")


def attention(x, size, name):
    """Return what each token takes from all tokens."""
    depth = size.width // size.heads

    def by_head(projected):
        split = flow.reshape(projected, (size.batch, size.length, size.heads, depth))
        return flow.transpose(split, perm=[0, 2, 1, 3])

    query, key, value = (
        by_head(dense(x, size.width, f"{name}-{part}")) for part in ("query", "key", "value")
    )
    scores = flow.matmul(query, key, transpose_b=True, alpha=1 / math.sqrt(depth))
    mixed = flow.matmul(flow.nn.softmax(scores), value)
    mixed = flow.reshape(flow.transpose(mixed, perm=[0, 2, 1, 3]), (*x.shape,))
    return dense(mixed, size.width, f"{name}-output")


def encoder(x, size):
    """Return the features after all layers."""
    for number in range(size.layers):
        name = f"blocks-{number}"
        x = layer_norm(x + attention(x, size, f"{name}-attention"), f"{name}-norm1")
        inner = dense(x, 4 * size.width, f"{name}-inner", flow.math.gelu)
        x = layer_norm(x + dense(inner, size.width, f"{name}-outer"), f"{name}-norm2")
    return x


def make_job(size):
    """Return the training job."""
    tokens = tp.Numpy.Placeholder((size.batch, size.length), dtype=flow.int32)
    masked = tp.Numpy.Placeholder((size.batch, size.masked), dtype=flow.int32)

    @flow.global_function(type="train")
    def pretrain_job(
        tokens: tokens,
        types: tokens,
        positions: masked,
        answers: masked,
        follows: tp.Numpy.Placeholder((size.batch,), dtype=flow.int32),
    ) -> tp.Numpy:
        x = encoder(embeddings(tokens, types, size), size)
        guessed = flow.gather(x, positions, axis=1, batch_dims=1)
        logits = flow.reshape(dense(guessed, size.vocabulary, "guess"), (-1, size.vocabulary))
        cross_entropy = flow.nn.sparse_softmax_cross_entropy_with_logits
        masked_loss = flow.math.reduce_mean(cross_entropy(flow.reshape(answers, (-1,)), logits))
        first = flow.reshape(flow.slice(x, [None, 0, 0], [None, 1, -1]), (size.batch, size.width))
        pooled = dense(first, size.width, "pooler", flow.math.tanh)
        next_loss = flow.math.reduce_mean(cross_entropy(follows, dense(pooled, 2, "next")))
        loss = masked_loss + next_loss
        schedule = flow.optimizer.PolynomialScheduler(
            LEARNING_RATE, 100, 0.0, warmup=flow.optimizer.warmup.linear(5, 0.1)
        )
        flow.optimizer.AdamW(
            schedule, epsilon=1e-6, weight_decay=0.01, weight_decay_excludes=["bias", "norm"],
            grad_clipping=flow.optimizer.grad_clipping.by_global_norm(1.0),
        ).minimize(loss)  # fmt: skip
        return loss

    return pretrain_job


# --- as a module of today


class Attention(nn.Module):
    """Attention over all tokens."""

    def __init__(self, size):
        super().__init__()
        self.heads = size.heads
        for part in ("query", "key", "value", "output"):
            self.add_module(part, nn.Linear(size.width, size.width))

    def forward(self, x):
        """Return what each token takes from all tokens."""
        query, key, value = (
            part(x).unflatten(-1, (self.heads, -1)).transpose(1, 2)
            for part in (self.query, self.key, self.value)
        )
        mixed = nn.functional.scaled_dot_product_attention(query, key, value)
        return self.output(mixed.transpose(1, 2).flatten(2))


class Block(nn.Module):
    """A layer of the encoder."""

    def __init__(self, size):
        super().__init__()
        self.attention = Attention(size)
        self.norm1 = nn.LayerNorm(size.width, eps=1e-12)
        self.inner = nn.Linear(size.width, 4 * size.width)
        self.outer = nn.Linear(4 * size.width, size.width)
        self.norm2 = nn.LayerNorm(size.width, eps=1e-12)

    def forward(self, x):
        """Return the features after the layer."""
        x = self.norm1(x + self.attention(x))
        return self.norm2(x + self.outer(nn.functional.gelu(self.inner(x))))


class Bert(nn.Module):
    """BERT with its two losses."""

    def __init__(self, size):
        super().__init__()
        self.word = nn.Embedding(size.vocabulary, size.width)
        self.position = nn.Embedding(size.length, size.width)
        self.segment = nn.Embedding(2, size.width)
        self.norm = nn.LayerNorm(size.width, eps=1e-12)
        self.blocks = nn.Sequential(*[Block(size) for _ in range(size.layers)])
        self.guess = nn.Linear(size.width, size.vocabulary)
        self.pooler = nn.Linear(size.width, size.width)
        self.next = nn.Linear(size.width, 2)

    def forward(self, tokens, types, positions, answers, follows):
        """Return the sum of both losses."""
        x = self.blocks(self.norm(self.word(tokens) + self.segment(types) + self.position.weight))
        index = positions.long().unsqueeze(-1).expand(-1, -1, x.shape[-1])
        guessed = self.guess(x.gather(1, index)).flatten(0, 1)
        follow = self.next(self.pooler(x[:, 0]).tanh())
        cross_entropy = nn.functional.cross_entropy
        return cross_entropy(guessed, answers.flatten()) + cross_entropy(follow, follows)


class TrainGraph(nn.Graph):
    """A training step of today."""

    def __init__(self, size):
        super().__init__()
        self.model = Bert(size)
        give_variables(self.model)
        decayed, others = [], []
        for name, parameter in self.model.named_parameters():
            (others if "bias" in name or "norm" in name else decayed).append(parameter)
        optimizer = today.optim.AdamW(
            [{"params": decayed, "weight_decay": 0.01}, {"params": others, "weight_decay": 0.0}],
            LEARNING_RATE, eps=1e-6, do_bias_correction=False,
        )  # fmt: skip
        self.trained = [*decayed, *others]
        schedule = today.optim.lr_scheduler.LambdaLR(optimizer, self.rate)
        self.add_optimizer(optimizer, lr_sch=schedule)

    @staticmethod
    def rate(step):
        """Return the share of the learning rate that a step has."""
        return 0.1 + 0.9 * step / 5 if step < 5 else 1 - step / 100

    def build(self, **batch):
        """Return the loss of a batch."""
        loss = self.model(**batch)
        loss.backward()
        nn.utils.clip_grad_norm_(self.trained, 1.0)
        return loss


def random_batch(size, rng):
    """Return the arguments of a step."""
    tokens = rng.integers(0, size.vocabulary, (size.batch, size.length)).astype(np.int32)
    positions = np.stack(
        [rng.permutation(size.length)[: size.masked] for _ in range(size.batch)]
    ).astype(np.int32)
    answers = np.take_along_axis(tokens, positions, 1)
    np.put_along_axis(tokens, positions, 0, 1)
    types = np.zeros_like(tokens)
    types[:, size.length // 2 :] = 1
    follows = rng.integers(0, 2, size.batch).astype(np.int32)
    return {
        "tokens": tokens,
        "types": types,
        "positions": positions,
        "answers": answers,
        "follows": follows,
    }


def train(size, steps):
    """Return the losses of each step, of the job and of the graph."""
    flow.manual_seed(0)
    rng = np.random.default_rng(0)
    batches = itertools.islice(itertools.cycle([random_batch(size, rng) for _ in range(4)]), steps)
    job = make_job(size)
    return losses_of(job, TrainGraph(size), batches)


def main():
    """Train both and print their losses."""
    parser = make_parser(__doc__)
    parser.add_argument("--steps", type=int, default=20, help="steps of both")
    print_losses(train(Size(), parser.parse_args().steps))


if __name__ == "__main__":
    run(main)
