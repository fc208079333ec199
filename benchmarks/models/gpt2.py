"""GPT-2 as a function from some tokens of each sequence to the next, with a cache of the past."""

import math

import oneflow as flow
from oneflow import nn
from oneflow.nn import functional as F


class Projection(nn.Module):
    """``x @ weight + bias``; GPT-2 keeps its weights as [in, out]."""

    def __init__(self, inputs, outputs):
        super().__init__()
        self.weight = nn.Parameter(flow.zeros(inputs, outputs))
        self.bias = nn.Parameter(flow.zeros(outputs))

    def forward(self, x):
        return x @ self.weight + self.bias


class Attention(nn.Module):
    """Attention of tokens to those before them and to themselves."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.c_attn = Projection(width, 3 * width)
        self.c_proj = Projection(width, width)

    def forward(self, x, positions, keys, values):
        """Return the output for tokens [n, t, width], and the caches [n, heads, length, size]."""
        n, t, width = x.shape
        shape = (n, t, self.heads, width // self.heads)
        query, key, value = (part.view(*shape) for part in self.c_attn(x).chunk(3, dim=2))
        # Written in place: a part of the cache changes, and the rest is not copied.
        keys, values = keys.clone(), values.clone()
        rows = flow.arange(n)[:, None]
        keys[rows, :, positions] = key
        values[rows, :, positions] = value
        scores = query.transpose(1, 2) @ keys.transpose(2, 3) / math.sqrt(shape[-1])
        later = flow.arange(keys.shape[2]) > positions[:, None, :, None]
        weights = scores.masked_fill(later, -1e9).softmax(dim=-1)
        return self.c_proj((weights @ values).transpose(1, 2).flatten(2)), keys, values


class Block(nn.Module):
    """Attention and perceptron with residual connections."""

    def __init__(self, width, heads):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attn = Attention(width, heads)
        self.mlp = nn.ModuleDict(
            {"c_fc": Projection(width, 4 * width), "c_proj": Projection(4 * width, width)}
        )

    def forward(self, x, positions, keys, values):
        """Return the output for some tokens of each sequence, and the caches."""
        change, keys, values = self.attn(self.ln_1(x), positions, keys, values)
        x = x + change
        hidden = F.gelu(self.mlp["c_fc"](self.ln_2(x)), approximate="tanh")
        return x + self.mlp["c_proj"](hidden), keys, values


class Gpt2(nn.Module):
    """The decoder, with the names of parameters that `transformers` gives them.

    Args:
        vocabulary: the number of tokens.
        length: the tokens that a sequence may have.
        width: of the tokens' vectors.
        heads: of attention.
        layers: the number of blocks.
    """

    def __init__(self, vocabulary, length, width, heads, layers):
        super().__init__()
        self.heads, self.size = heads, width // heads
        self.wte = nn.Embedding(vocabulary, width)
        self.wpe = nn.Embedding(length, width)
        self.h = nn.ModuleList([Block(width, heads) for _ in range(layers)])
        self.ln_f = nn.LayerNorm(width)

    def empty_caches(self, sequences, length):
        """Return the caches of new sequences of up to `length` tokens."""
        shape = (sequences, self.heads, length, self.size)
        return [(flow.zeros(*shape), flow.zeros(*shape)) for _ in self.h]

    def forward(self, tokens, position, count, caches):
        """Return the logits that follow `count` of some tokens, and the new caches.

        Args:
            tokens: a row for each sequence.
            position: that of the first one of each.
            count: the number of those that are not padding.
            caches: the present caches.
        """
        positions = position[:, None] + flow.arange(tokens.shape[1])
        x = self.wte(tokens) + self.wpe(positions)
        new = []
        for block, (keys, values) in zip(self.h, caches, strict=True):
            x, keys, values = block(x, positions, keys, values)
            new.append((keys, values))
        last = x[flow.arange(len(x)), count - 1]
        return self.ln_f(last) @ self.wte.weight.T, new


@nn.Graph.with_dynamic_input_shape(size=64)
class Decode(nn.Graph):
    """Steps of the decoder as `oneflow.serving` takes them."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def build(self, token, position, cache, count=None):
        """Return the logits and the state under the names that the server expects."""
        if count is None:
            token, count = token[:, None], flow.ones_like(position)
        logits, cache = self.model(token, position, count, cache)
        return {"logits": logits, "cache": cache}
