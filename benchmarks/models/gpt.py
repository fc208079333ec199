"""A small GPT: four pre-norm blocks of width 256, sequences of 128 tokens, dropout, AdamW."""

import math

from benchmarks.models.training import Training, eager_step


def attention_class(torch, width, heads, context, dropout):
    """Causal attention as a module class of either library."""
    nn, F = torch.nn, torch.nn.functional

    class Attention(nn.Module):
        def __init__(self):
            super().__init__()
            self.qkv = nn.Linear(width, 3 * width)
            self.projection = nn.Linear(width, width)
            self.dropout = nn.Dropout(dropout)
            self.register_buffer("mask", torch.tril(torch.ones(context, context)) == 0)

        def forward(self, x):
            batch, length, _ = x.shape
            q, k, v = self.qkv(x).split(width, dim=2)
            shape = (batch, length, heads, width // heads)
            q, k, v = (part.view(*shape).transpose(1, 2) for part in (q, k, v))
            scores = q @ k.transpose(-2, -1) * (1.0 / math.sqrt(width // heads))
            scores = scores.masked_fill(self.mask[:length, :length], float("-inf"))
            weights = self.dropout(F.softmax(scores, dim=-1))
            mixed = (weights @ v).transpose(1, 2).contiguous().view(batch, length, width)
            return self.dropout(self.projection(mixed))

    return Attention


def block_class(torch, width, heads, context, dropout):
    """Attention and perceptron, each with a residual connection, as a module class."""
    nn = torch.nn
    Attention = attention_class(torch, width, heads, context, dropout)

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.attention = Attention()
            self.mlp = nn.Sequential(
                nn.Linear(width, 4 * width),
                nn.GELU(),
                nn.Linear(4 * width, width),
                nn.Dropout(dropout),
            )

        def forward(self, x):
            x = x + self.attention(self.norm1(x))
            return x + self.mlp(self.norm2(x))

    return Block


def make_model(torch, vocabulary=512, width=256, heads=4, layers=4, context=128, dropout=0.1):
    """The decoder-only transformer as a module of either library."""
    nn = torch.nn
    Block = block_class(torch, width, heads, context, dropout)

    class GPT(nn.Module):
        def __init__(self):
            super().__init__()
            self.tokens = nn.Embedding(vocabulary, width)
            self.positions = nn.Embedding(context, width)
            self.dropout = nn.Dropout(dropout)
            self.blocks = nn.Sequential(*(Block() for _ in range(layers)))
            self.norm = nn.LayerNorm(width)
            self.head = nn.Linear(width, vocabulary, bias=False)

        def forward(self, tokens):
            places = torch.arange(tokens.shape[1], device=tokens.device)
            x = self.dropout(self.tokens(tokens) + self.positions(places))
            return self.head(self.norm(self.blocks(x)))

    return GPT()


def build(torch, batch=8, context=128, vocabulary=512, make_step=eager_step, **sizes):
    """A training step; see `mlp.build`. Further sizes are those of `make_model`."""
    model = make_model(torch, vocabulary=vocabulary, context=context, **sizes)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, weight_decay=0.1)
    tokens = torch.randint(0, vocabulary, (batch, context))
    targets = torch.randint(0, vocabulary, (batch, context))

    def loss_of(model, tokens, targets):
        logits = model(tokens)
        return torch.nn.functional.cross_entropy(logits.view(-1, vocabulary), targets.view(-1))

    return make_step(Training(model, loss_of, optimizer, (tokens, targets)))
