"""A perceptron, a GPT and a Wide & Deep, with plans by hand for laying them over many devices.

What does a plan cost on devices that nobody has to own? Ask the planner:

    python -m oneflow.plan examples/plans.py:gpt --ranks 8x8 --type cuda layers=24 width=2048

``strategy`` is ``data`` (rows of the input are split over all devices), ``tensor`` (layers are),
``2d`` (rows over the first dimension of the mesh, layers over the others) or ``free`` (parameters
lie as the planner likes, see `enable_auto_parallel`). With ``stages=4 micro_batches=8`` the GPT is
a pipeline: each quarter of its layers lies on a quarter of the devices.
"""

import argparse
import itertools
import math
import sys

from tqdm import trange

import oneflow as flow
from oneflow import nn

# Parameters that tensor parallelism splits, by the ends of their names, and the dimension: the
# outputs of one layer, and the inputs of the next.
SPLITS = {
    "mlp": {"0.weight": 0, "0.bias": 0, "2.weight": 1},
    "gpt": {
        **dict.fromkeys(("query.weight", "key.weight", "value.weight", "up.weight"), 0),
        **dict.fromkeys(("query.bias", "key.bias", "value.bias", "up.bias"), 0),
        **dict.fromkeys(("projection.weight", "down.weight"), 1),
    },
    "wide_deep": {"wide.weight": None, "deep.weight": 1, "0.weight": 0, "0.bias": 0, "2.weight": 1},
}


class Attention(nn.Module):
    """Causal attention; its heads may be split over devices."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.size = heads, width // heads
        self.query, self.key = nn.Linear(width, width), nn.Linear(width, width)
        self.value, self.projection = nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, x):
        batch, length, width = x.shape
        shape = (batch, length, self.heads, self.size)
        q, k, v = (
            layer(x).view(*shape).transpose(1, 2) for layer in (self.query, self.key, self.value)
        )
        mixed = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.projection(mixed.transpose(1, 2).reshape(batch, length, width))


class Block(nn.Module):
    """Attention and a perceptron, each with a residual connection."""

    def __init__(self, width, heads):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width, heads)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.down(nn.functional.gelu(self.up(self.norm2(x))))


class GPT(nn.Module):
    """A decoder-only transformer; returns the loss."""

    def __init__(self, vocabulary, context, width, heads, layers):
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        self.positions = nn.Parameter(flow.zeros(context, width))
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)

    def forward(self, tokens, targets):
        x = self.tokens(tokens) + self.positions
        for block in self.blocks:
            x = block(x)
        logits = self.head(self.norm(x))
        return nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())


class Perceptron(nn.Module):
    """Linear layers with ReLU between them; returns the loss."""

    def __init__(self, sizes):
        super().__init__()
        layers = []
        for before, after in itertools.pairwise(sizes):
            layers += [nn.Linear(before, after), nn.ReLU()]
        self.layers = nn.Sequential(*layers[:-1])

    def forward(self, images, labels):
        return nn.functional.cross_entropy(self.layers(images), labels)


class WideDeep(nn.Module):
    """Wide & Deep (Cheng et al., 2016): rows of one table per field, and numbers."""

    def __init__(self, fields, rows, width, numbers, hidden):
        super().__init__()
        self.wide = nn.Embedding(fields * rows, 1)
        self.deep = nn.Embedding(fields * rows, width)
        self.register_buffer("offsets", flow.arange(fields) * rows)
        self.layers = nn.Sequential(
            nn.Linear(fields * width, hidden), nn.ReLU(), nn.Linear(hidden, 1)
        )
        self.numbers = nn.Linear(numbers, 1)

    def forward(self, categories, numbers, clicks):
        places = categories + self.offsets
        wide = self.wide(places).sum(dim=1) + self.numbers(numbers)
        scores = wide + self.layers(self.deep(places).flatten(1))
        return nn.functional.binary_cross_entropy_with_logits(scores, clicks)


class Training(nn.Graph):
    """One training step of a module that returns its loss."""

    def __init__(self, model, optimizer, zero=0, automatic=False, micro_batches=1):
        super().__init__()
        self.model = model
        self.add_optimizer(optimizer)
        if micro_batches > 1:
            self.config.set_gradient_accumulation_steps(micro_batches)
        if zero:
            self.config.enable_zero(stage=zero, shard_min_size=1)
        if automatic:
            self.config.enable_auto_parallel()

    def build(self, *inputs):
        loss = self.model(*inputs)
        loss.backward()
        return loss


def lay(kind, model, placement, strategy):
    """Bring a model to a placement, and say how its inputs lie there."""
    split, broadcast = flow.sbp.split, flow.sbp.broadcast
    count = len(placement.hierarchy)
    split_rows = {"data": count, "tensor": 0, "2d": 1, "free": count}
    if strategy not in split_rows:
        raise ValueError(f"`strategy` must be one of {', '.join(split_rows)}, got {strategy!r}")
    replicas = split_rows[strategy]
    model.to_global(placement, [broadcast] * count)
    for name, parameter in model.named_parameters():
        for end, dim in SPLITS[kind].items():
            if name.endswith(end) and dim is not None and replicas < count:
                sbp = [broadcast] * replicas + [split(dim)] * (count - replicas)
                parameter.data = parameter.data.to_global(sbp=sbp)
    return [split(0)] * replicas + [broadcast] * (count - replicas)


def parts_of(placement, count):
    """A placement in equal parts along its first dimension."""
    ranks = placement.ranks
    if count < 1 or len(ranks) % count:
        raise ValueError(f"`stages` must divide {len(ranks)}, got {count}")
    size = len(ranks) // count
    return [flow.placement(placement.type, ranks[i : i + size]) for i in range(0, len(ranks), size)]


def set_stages(model, places):
    """Let the layers of a GPT run where they lie, the last of them with the head."""
    for block in (*model.blocks, model.norm, model.head):
        place = next(block.parameters()).placement
        block.config.set_stage(places.index(place), place)


def placed(tensors, placement, sbp):
    """Tensors that every rank has whole, laid over a placement."""
    whole = [flow.sbp.broadcast] * len(placement.hierarchy)
    return tuple(tensor.to_global(placement, whole).to_global(sbp=sbp) for tensor in tensors)


def mlp(placement, batch=256, width=1024, layers=3, strategy="data", zero=0):
    """The perceptron and its inputs."""
    model = Perceptron([784, *[width] * (layers - 1), 10])
    sbp = lay("mlp", model, placement, strategy)
    optimizer = flow.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    graph = Training(model, optimizer, zero, strategy == "free")
    return graph, placed((flow.randn(batch, 784), flow.randint(0, 10, (batch,))), placement, sbp)


def gpt(
    placement,
    batch=64,
    context=128,
    vocabulary=512,
    width=256,
    heads=4,
    layers=4,
    strategy="data",
    zero=0,
    stages=1,
    micro_batches=1,
):
    """The GPT and its inputs."""
    model = GPT(vocabulary, context, width, heads, layers)
    places = parts_of(placement, stages)
    sbp = lay("gpt", model, places[0], strategy)
    for number, place in enumerate(places[1:], 1):
        for block in model.blocks[number * layers // stages : (number + 1) * layers // stages]:
            lay("gpt", block, place, strategy)
    lay("gpt", model.norm, places[-1], strategy)
    lay("gpt", model.head, places[-1], strategy)
    optimizer = flow.optim.AdamW(model.parameters(), lr=3e-4)
    graph = Training(model, optimizer, zero, strategy == "free", micro_batches)
    if stages > 1:
        set_stages(graph.model, places)
    tokens, targets = (flow.randint(0, vocabulary, (batch, context)) for _ in range(2))
    return graph, (*placed([tokens], places[0], sbp), *placed([targets], places[-1], sbp))


def wide_deep(
    placement,
    batch=4096,
    fields=26,
    rows=1000,
    width=16,
    numbers=13,
    hidden=256,
    strategy="data",
    zero=0,
):
    """The Wide & Deep and its inputs."""
    model = WideDeep(fields, rows, width, numbers, hidden)
    sbp = lay("wide_deep", model, placement, strategy)
    optimizer = flow.optim.Adam(model.parameters(), lr=1e-3)
    graph = Training(model, optimizer, zero, strategy == "free")
    inputs = (
        flow.randint(0, rows, (batch, fields)),
        flow.randn(batch, numbers),
        flow.randint(0, 2, (batch, 1)).float(),
    )
    return graph, placed(inputs, placement, sbp)


def main():
    """Train each for a few steps on the devices at hand."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=3, help="of each model (default: 3)")
    parser.add_argument("--batch", type=int, default=16, help="rows of a step (default: 16)")
    options = parser.parse_args()
    placement = flow.placement.all("cpu")
    for make in (mlp, gpt, wide_deep):
        graph, inputs = make(placement, batch=options.batch)
        losses = [
            graph(*inputs).item() for _ in trange(options.steps, desc=make.__name__, unit="step")
        ]
        assert all(map(math.isfinite, losses))
        print(f"{make.__name__}: " + " -> ".join(f"{loss:.4f}" for loss in losses))


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("stopped")
