"""A small decoder that is served, and the calls before it is saved."""

import itertools
import math
from typing import NamedTuple

import oneflow as flow
from oneflow import nn

VOCABULARY, LENGTH, WIDTH, HEADS, LAYERS = 31, 24, 16, 2, 1


class Attention(nn.Module):
    """Causal attention, of whole sequences or of one further token with a cache."""

    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.out = nn.Linear(WIDTH, WIDTH)

    def heads(self, x):
        shape = (*x.shape[:-1], HEADS, WIDTH // HEADS)
        return [part.view(*shape) for part in self.qkv(x).chunk(3, dim=-1)]

    def forward(self, x):
        q, k, v = (head.transpose(1, 2) for head in self.heads(x))
        scores = q @ k.transpose(2, 3) / math.sqrt(q.shape[-1])
        mask = flow.ones(x.shape[1], x.shape[1]).tril() == 0
        weights = scores.masked_fill(mask, -1e9).softmax(dim=-1)
        return self.out((weights @ v).transpose(1, 2).flatten(2))

    def step(self, x, positions, keys, values):
        q, k, v = self.heads(x)
        keys, values = keys.clone(), values.clone()
        rows = flow.arange(len(x))[:, None]
        keys[rows, positions] = k
        values[rows, positions] = v
        scores = (q[:, :, None] * keys[:, None]).sum(-1) / math.sqrt(q.shape[-1])
        later = (flow.arange(keys.shape[1]) > positions[:, :, None])[..., None]
        weights = scores.masked_fill(later, -1e9).softmax(dim=2)
        return self.out((weights[..., None] * values[:, None]).sum(2).flatten(2)), keys, values


class Gpt(nn.Module):
    """A decoder of `LAYERS` layers."""

    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(VOCABULARY, WIDTH)
        self.positions = nn.Embedding(LENGTH, WIDTH)
        self.attention = nn.ModuleList([Attention() for _ in range(LAYERS)])
        self.feed = nn.ModuleList([nn.Linear(WIDTH, WIDTH) for _ in range(LAYERS)])
        self.head = nn.Linear(WIDTH, VOCABULARY)

    def forward(self, tokens):
        x = self.tokens(tokens) + self.positions(flow.arange(tokens.shape[1]))
        for attention, feed in zip(self.attention, self.feed, strict=True):
            x = x + attention(x)
            x = x + feed(x).tanh()
        return self.head(x * 3)

    def step(self, tokens, position, count, caches):
        positions = position[:, None] + flow.arange(tokens.shape[1])
        x = self.tokens(tokens) + self.positions(positions)
        new = []
        for attention, feed, (keys, values) in zip(self.attention, self.feed, caches, strict=True):
            change, keys, values = attention.step(x, positions, keys, values)
            new.append((keys, values))
            x = x + change
            x = x + feed(x).tanh()
        return self.head(x[flow.arange(len(x)), count - 1] * 3), new


@nn.Graph.with_dynamic_input_shape(size=50)
class Decode(nn.Graph):
    """Steps of the decoder as they are served."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def build(self, token, position, cache, count=None):
        if count is None:
            token, count = token[:, None], flow.ones_like(position)
        logits, cache = self.model.step(token, position, count, cache)
        return {"logits": logits, "cache": cache}


class Saved(NamedTuple):
    """The arguments with which a model is called before it is saved.

    Attributes:
        places: the numbers of sequences.
        waiting: the sequences that may wait.
        lengths: of the caches.
        prompts: the numbers of sequences of which chunks are read.
        chunks: their sizes.
    """

    places: tuple[int, ...]
    waiting: int = 100
    lengths: tuple[int, ...] = (LENGTH,)
    prompts: tuple[int, ...] = ()
    chunks: tuple[int, ...] = ()

    def save(self, model, folder):
        """Save the graph of a model."""
        graph = Decode(model)
        for length in self.lengths:
            sizes = [(places, 0) for places in self.places]
            for places, chunk in [*sizes, *itertools.product(self.prompts, self.chunks)]:
                shape = (places, length, HEADS, WIDTH // HEADS)
                cache = [(flow.zeros(*shape), flow.zeros(*shape)) for _ in range(LAYERS)]
                zeros = flow.zeros(places, dtype=flow.int64)
                if chunk:
                    graph(flow.zeros(places, chunk, dtype=flow.int64), zeros, cache, zeros + 1)
                else:
                    graph(zeros, zeros, cache)
        graph.save(folder)
