"""Operations on global tensors of ever new shapes: nothing is compiled for any of them (2 ranks).

What is computed so is what one process computes, and what compiled programs give.
"""

import numpy as np

import oneflow as flow
from oneflow import nn
from oneflow.nn import functional as F

RANK = flow.env.get_rank()
B, P, S = flow.sbp.broadcast, flow.sbp.partial_sum, flow.sbp.split
PAIR = flow.placement("cpu", [0, 1])
WIDTH, HEADS, WORDS = 8, 2, 16
LENGTHS = range(2, 9)


def compiled_programs():
    statistics = flow.eager.statistics()
    return statistics.operation_compiles + statistics.program_compiles


class Decoder(nn.Module):
    """A decoder of one layer, and the table of its words."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(WORDS, WIDTH)
        self.norm = nn.LayerNorm(WIDTH)
        self.heads = nn.Linear(WIDTH, 3 * WIDTH)
        self.out = nn.Linear(WIDTH, WIDTH)

    def forward(self, words):
        x = self.table(words)
        batch, length, _ = x.shape
        heads = self.heads(self.norm(x)).view(batch, length, HEADS, -1).transpose(1, 2)
        query, key, value = heads.chunk(3, dim=-1)
        later = flow.ones_like(x[0, :, :1] @ x[0, :, :1].transpose(0, 1)).triu(1) > 0
        scores = (query @ key.transpose(-1, -2)).masked_fill(later, -1e4).softmax(-1)
        x = x + self.out((scores @ value).transpose(1, 2).reshape(batch, length, -1))
        return F.linear(x, self.table.weight)


def split_by_tensor(model):
    """Put the weights of a model on two devices as Megatron does."""
    layouts = {"table.weight": S(0), "heads.weight": S(0), "heads.bias": S(0), "out.weight": S(1)}
    for name, parameter in model.named_parameters():
        owner = model.get_submodule(name.rpartition(".")[0])
        sbp = layouts.get(name, B)
        setattr(
            owner,
            name.rpartition(".")[2],
            nn.Parameter(parameter.to_global(PAIR, B).to_global(sbp=sbp)),
        )
    return model


def words_of_two(count):
    return (flow.arange(2 * count) * 7 % WORDS).reshape(2, count)


def check_decoding():
    flow.manual_seed(1)
    local = Decoder().eval()
    flow.manual_seed(1)
    by_tensor = split_by_tensor(Decoder()).eval()
    flow.manual_seed(1)
    by_data = Decoder().eval().to_global(PAIR, B)
    for model, sbp in ((by_tensor, B), (by_data, S(0))):
        for length in LENGTHS:
            words = words_of_two(length)
            with flow.no_grad():
                expected = local(words)
                before = compiled_programs()
                logits = model(words.to_global(PAIR, B).to_global(sbp=sbp))
                following = logits[:, -1].argmax(-1)
                found = logits.numpy(), following.numpy()
            assert compiled_programs() == before, (length, sbp)
            np.testing.assert_allclose(found[0], expected.numpy(), rtol=1e-5, atol=1e-6)
            np.testing.assert_array_equal(found[1], expected[:, -1].argmax(-1).numpy())


def gradients(x):
    x = x.clone().requires_grad_()
    ((x.softmax(0) * x).sum(1).exp().mean() + x.std()).backward()
    return x.grad


FUNCTIONS = {
    "sum": lambda x: x.sum(0),
    "norm": lambda x: x.norm(),
    "maximum": lambda x: x.max(0)[0],
    "place of the maximum": lambda x: x.argmax(0),
    "sorted": lambda x: x.sort(0, descending=True)[0],
    "topk": lambda x: x.topk(2, dim=0)[1],
    "cumulative sum": lambda x: x.cumsum(0),
    "triangle": lambda x: x.tril(-1),
    "product": lambda x: x @ x.transpose(0, 1),
    "places": lambda x: flow.ones_like(x).cumsum(1) + x.argsort(1),
    "lookup": lambda x: F.embedding(x.abs().long() % len(x), x),
    "row": lambda x: x[2] + x[-1],
    "steps": lambda x: x[::2, 1:],
    "half": lambda x: (x.round().half() * 2).sum(0).float(),
    "truth values": lambda x: (x > 0).any(0),
    "integers": lambda x: x.int().sum() // 2,
    "batch norm": lambda x: F.batch_norm(x, None, None, training=True),
    "gradients": gradients,
}


def check_functions():
    settings = flow.eager.settings
    rng = np.random.default_rng(0)
    for number, (name, function) in enumerate(FUNCTIONS.items()):
        for sbp in (S(0), S(1), P, B):
            whole = flow.tensor(
                rng.normal(size=(5 + number, 4 + number % 3)).astype(np.float32) * 3
            )
            expected = function(whole).numpy()
            results = {}
            for mode in ("deferred", "compiled"):
                settings.mode = mode
                try:
                    results[mode] = function(whole.to_global(PAIR, B).to_global(sbp=sbp)).numpy()
                finally:
                    settings.mode = "deferred"
                note = f"{name} of {sbp}, {mode}"
                np.testing.assert_allclose(results[mode], expected, 1e-4, 1e-5, err_msg=note)
                assert results[mode].dtype == expected.dtype, note


def check_ranks_that_compile_apart():
    """One rank compiles what the other computes: neither waits for the other's way."""
    settings, whole = flow.eager.settings, flow.arange(35.0).reshape(7, 5)
    settings.mode = "compiled" if RANK == 0 else "deferred"
    settings.by_operator = RANK == 1
    try:
        for sbp in (S(0), S(1), P):
            x = whole.to_global(PAIR, B).to_global(sbp=sbp).requires_grad_()
            (x.cumsum(0) * x.softmax(1)).sum().backward()
            local = whole.clone().requires_grad_()
            (local.cumsum(0) * local.softmax(1)).sum().backward()
            np.testing.assert_allclose(x.grad.numpy(), local.grad.numpy(), rtol=1e-5, atol=1e-5)
    finally:
        settings.mode, settings.by_operator = "deferred", False


check_decoding()
check_functions()
check_ranks_that_compile_apart()
