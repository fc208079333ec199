"""GPT-2 as a function from one token of each sequence to the next, with a cache of the past."""

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
    """Attention of one token to those before it."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.c_attn = Projection(width, 3 * width)
        self.c_proj = Projection(width, width)

    def forward(self, x, position, keys, values):
        """Return the output for tokens [n, width], and the caches [n, heads, length, size]."""
        shape = (len(x), self.heads, 1, x.shape[1] // self.heads)
        query, key, value = (part.view(*shape) for part in self.c_attn(x).chunk(3, dim=1))
        places = flow.arange(keys.shape[2])[None, None, :, None]
        position = position[:, None, None, None]
        keys = flow.where(places == position, key, keys)
        values = flow.where(places == position, value, values)
        scores = query @ keys.transpose(2, 3) / math.sqrt(shape[-1])
        later = (places > position).transpose(2, 3)
        weights = scores.masked_fill(later, -1e9).softmax(dim=-1)
        return self.c_proj((weights @ values).flatten(1)), keys, values


class Block(nn.Module):
    """Attention and perceptron with residual connections."""

    def __init__(self, width, heads):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attn = Attention(width, heads)
        self.mlp = nn.ModuleDict(
            {"c_fc": Projection(width, 4 * width), "c_proj": Projection(4 * width, width)}
        )

    def forward(self, x, position, keys, values):
        """Return the output for one token of each sequence, and the caches."""
        change, keys, values = self.attn(self.ln_1(x), position, keys, values)
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
        self.cache_shape = (heads, length, width // heads)
        self.wte = nn.Embedding(vocabulary, width)
        self.wpe = nn.Embedding(length, width)
        self.h = nn.ModuleList([Block(width, heads) for _ in range(layers)])
        self.ln_f = nn.LayerNorm(width)

    def empty_caches(self, sequences):
        """Return the caches of new sequences."""
        shape = (sequences, *self.cache_shape)
        return [(flow.zeros(*shape), flow.zeros(*shape)) for _ in self.h]

    def forward(self, token, position, caches):
        """Return the logits of the next token of each sequence, and the new caches."""
        x = self.wte(token) + self.wpe(position)
        new = []
        for block, (keys, values) in zip(self.h, caches, strict=True):
            x, keys, values = block(x, position, keys, values)
            new.append((keys, values))
        return self.ln_f(x) @ self.wte.weight.T, new


class Decode(nn.Graph):
    """One step of the decoder as `oneflow.serving` takes it."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def build(self, token, position, cache):
        """Return the logits and the state under the names that the server expects."""
        logits, cache = self.model(token, position, cache)
        return {"logits": logits, "cache": cache}
