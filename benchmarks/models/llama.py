"""A decoder as Llama's: RMSNorm, rotary positions, grouped queries, SwiGLU, AdamW."""

import math

from benchmarks.models.training import Training, eager_step


def rotary_tables(torch, context, size):
    """Cosines and sines of the angles of each position, [context, size]."""
    powers = torch.arange(0, size, 2, dtype=torch.float32) / size
    angles = torch.arange(context, dtype=torch.float32)[:, None] * 10000.0 ** -powers[None, :]
    angles = torch.cat([angles, angles], dim=-1)
    return torch.cos(angles), torch.sin(angles)


def norm_class(torch, width):
    """RMSNorm as a module class of either library."""

    class Norm(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.ones(width))

        def forward(self, x):
            scale = torch.rsqrt(x.float().square().mean(-1, keepdim=True) + 1e-5)
            return (x.float() * scale).to(x.dtype) * self.weight

    return Norm


def block_class(torch, width, hidden, heads, groups, context):
    """Attention and SwiGLU, each with a residual connection, as a module class."""
    nn, F, size = torch.nn, torch.nn.functional, width // heads
    Norm = norm_class(torch, width)

    def rotated(x, cosines, sines):
        first, second = x.split(size // 2, dim=-1)
        return x * cosines + torch.cat([-second, first], dim=-1) * sines

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm1, self.norm2 = Norm(), Norm()
            self.q = nn.Linear(width, width, bias=False)
            self.k = nn.Linear(width, groups * size, bias=False)
            self.v = nn.Linear(width, groups * size, bias=False)
            self.out = nn.Linear(width, width, bias=False)
            self.gate = nn.Linear(width, hidden, bias=False)
            self.up = nn.Linear(width, hidden, bias=False)
            self.down = nn.Linear(hidden, width, bias=False)
            cosines, sines = rotary_tables(torch, context, size)
            self.register_buffer("cosines", cosines)
            self.register_buffer("sines", sines)

        def forward(self, x):
            batch, length, _ = x.shape
            y = self.norm1(x)
            q = self.q(y).view(batch, length, heads, size).transpose(1, 2)
            k = self.k(y).view(batch, length, groups, size).transpose(1, 2)
            v = self.v(y).view(batch, length, groups, size).transpose(1, 2)
            cosines, sines = self.cosines.to(q.dtype), self.sines.to(q.dtype)
            q, k = rotated(q, cosines, sines), rotated(k, cosines, sines)
            k, v = (part.repeat_interleave(heads // groups, dim=1) for part in (k, v))
            mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.out(mixed.transpose(1, 2).reshape(batch, length, width))
            y = self.norm2(x)
            return x + self.down(F.silu(self.gate(y)) * self.up(y))

    return Block


def build(
    torch,
    batch=4,
    context=1024,
    vocabulary=32000,
    width=2048,
    hidden=8192,
    heads=32,
    groups=8,
    layers=16,
    make_step=eager_step,
):
    """A training step; see `mlp.build`."""
    nn = torch.nn
    Block = block_class(torch, width, hidden, heads, groups, context)
    model = nn.Sequential(
        nn.Embedding(vocabulary, width),
        *(Block() for _ in range(layers)),
        norm_class(torch, width)(),
        nn.Linear(width, vocabulary, bias=False),
    )
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim > 1:
                parameter.normal_(0.0, 1 / math.sqrt(width))
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, weight_decay=0.1)
    tokens = torch.randint(0, vocabulary, (batch, context))
    targets = torch.randint(0, vocabulary, (batch, context))

    def loss_of(model, tokens, targets):
        logits = model(tokens)
        return nn.functional.cross_entropy(logits.view(-1, vocabulary), targets.view(-1))

    return make_step(Training(model, loss_of, optimizer, (tokens, targets)))
