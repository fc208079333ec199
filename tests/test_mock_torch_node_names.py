"""Nodes of the autograd graph have PyTorch's names in its place, and OneFlow's elsewhere."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import oneflow as flow
from oneflow import mock_torch
from tests.in_place import enabled, in_place_of

# Beside `t`, the library, there are `F` and tensors of several numbers of dimensions.
EXPRESSIONS = """
m + 1; m + n; m - n; m - 1; 1 - m; m * n; m / n; 2 / m; -m; m ** 2; m ** 3; m ** 2.5; m ** n; 2 ** m
m.exp(); m.log(); m.log1p(); m.log2(); m.expm1(); m.sqrt(); m.rsqrt(); m.abs(); m.sin(); m.atan()
m.tanh(); m.sigmoid(); m.relu(); m.erf(); m.floor(); m.reciprocal(); m.square(); m.lgamma()
t.atan2(m, n); m.clamp(0, 1); m.clamp(min=0); m.clamp(max=1); m.clamp(m, n); m.clamp(min=n)
t.maximum(m, n); t.where(m > 0.5, m, n); m.lerp(n, 0.5); t.addcmul(m, m, n); t.addcdiv(m, m, n)
m.sum(); m.sum(0); m.mean(); m.mean(1); m.prod(); m.prod(0); m.std(); m.var(0); m.norm()
m.max(); m.min(); m.max(0)[0]; m.min(1)[0]; m.amax(0); m.amin(0); m.median(); m.median(0)[0]
m.logsumexp(0); m.cumsum(0); m.cumprod(0); m.sort()[0]; m.topk(2)[0]; m.kthvalue(1)[0]
m @ n; t.mm(m, n); t.bmm(b, b); m @ v; v @ v; b @ m; i @ i; b @ v; t.einsum("ij,kj->ik", m, n)
m.view(-1); m.reshape(2, 8); m.flatten(); m.t(); b.permute(2, 0, 1); b.transpose(1, 2); b.mT
m.unsqueeze(0); m.unsqueeze(1).squeeze(1); m.expand(2, 4, 4); m[0]; m[0:2]; m[:, 1:]; m[..., None]
m[t.tensor([0, 1])]; m[m > 0.5]; m.gather(0, t.zeros(1, 4, dtype=t.int64)); m.clone(); m.double()
t.cat([m, n]); t.stack([m, n]); m.split(2)[0]; m.chunk(2)[0]; m.unbind()[0]; m.flip(0); m.tril()
m.diagonal(); m.as_strided((2, 2), (1, 1)); m.unfold(0, 2, 1); m.nan_to_num(); t.diag_embed(v)
F.linear(m, n, v); F.linear(m, n); F.linear(b, m, v); F.linear(b, m); t.nn.Linear(4, 2)(m)
F.softmax(m, 1); F.log_softmax(m, 1); F.gelu(m); F.gelu(m, approximate="tanh"); F.silu(m); F.elu(m)
F.leaky_relu(m); F.softplus(m); F.softsign(m); F.relu6(m); F.prelu(m, v); F.dropout(m)
F.logsigmoid(m); F.nll_loss(m, k); F.cross_entropy(m, k); F.cross_entropy(i, k.view(1, 2, 2) * 0)
F.l1_loss(m, n); F.mse_loss(m, n, reduction="none").sum(); F.normalize(m)
F.cosine_similarity(m, n); F.layer_norm(m, (4,))
F.batch_norm(i, None, None, training=True); F.batch_norm(i, v[:2].detach(), v[2:].detach())
F.conv1d(b, b); F.conv2d(i, i); F.conv_transpose1d(b, b); F.max_pool2d(i, 2); F.max_pool1d(b, 2)
F.pad(m, (1, 1)); F.unfold(i, 2); F.embedding(k, m); F.grid_sample(i, i.permute(0, 2, 3, 1))
t.linalg.det(m); t.linalg.svd(m)[0]; t.linalg.qr(m)[0]; t.linalg.eigh(m)[0]
t.complex(m, n); m.logit(); m.logit(0.1); m.to(t.bfloat16)
m.clone().add_(1); m.clone().relu_(); m.clone().copy_(n); written(m.clone()); t.ones(2)
"""
CALLS = [call.strip() for line in EXPRESSIONS.strip().splitlines() for call in line.split(";")]


def written(x: Any) -> Any:
    x[0] = 1
    return x


def names_of(library: Any, functional: Any, expression: str) -> Any:
    def uniform(*shape: int) -> Any:
        return library.rand(*shape).requires_grad_()

    tensors = {
        "v": uniform(4),
        "m": uniform(4, 4),
        "n": uniform(4, 4),
        "b": uniform(4, 4, 4),
        "i": uniform(1, 2, 2, 2),
        "k": library.tensor([0, 1, 2, 3]),
    }
    names = {"t": library, "F": functional, "written": written, **tensors}
    result = eval(expression, names)
    node = result.grad_fn
    if node is None:
        return None
    text = repr(result.detach().sum() if result.is_complex() else result)
    shown = text.partition("grad_fn=")[2].rstrip(")")
    return node.name(), type(node).__name__, repr(node).partition(" at ")[0], shown


@pytest.mark.parametrize("expression", CALLS)
@pytest.mark.filterwarnings("ignore:Default grid_sample", "ignore:var")
def test_names_are_pytorchs(expression: str) -> None:
    expected = names_of(torch, torch.nn.functional, expression)
    library, functional = in_place_of("torch"), in_place_of("torch.nn.functional")
    with enabled():
        assert names_of(library, functional, expression) == expected


def test_functions_of_users() -> None:
    def named(library: Any) -> tuple[str, str, str]:
        class Twice(library.autograd.Function):
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                return x * 2

            @staticmethod
            def backward(ctx: Any, grad: Any) -> Any:
                return grad * 2

        y = Twice.apply(library.ones(1, requires_grad=True))
        return y.grad_fn.name(), type(y.grad_fn).__name__, str(y)

    expected = named(torch)
    library = in_place_of("torch")
    with enabled():
        assert named(library) == expected


def test_nodes_of_leaves() -> None:
    def named(library: Any) -> tuple[str, str, str]:
        ((node, _),) = library.ones(1, requires_grad=True).exp().grad_fn.next_functions
        return node.name(), type(node).__name__, repr(node).partition(" at ")[0]

    expected = named(torch)
    library = in_place_of("torch")
    with enabled():
        assert named(library) == expected


def test_a_node_stays_itself() -> None:
    y = flow.ones(2, requires_grad=True) * 2
    node = y.grad_fn
    assert node is not None
    with mock_torch.enable():
        assert y.grad_fn is node
        after = (y + 1).grad_fn
        assert after is not None
        assert after.next_functions == ((node, 0),)
        assert type(node).__name__ == "MulBackward0"
        y.sum().backward()
    assert node.name() == "mul_backward"
    assert repr(node) == "<mul_backward>"
    assert str(y) == "tensor([2., 2.], dtype=oneflow.float32, grad_fn=<mul_backward>)"
