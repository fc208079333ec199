"""Programs of operators that PyTorch and its place run under modes and on wrapper tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

#: The tensors that programs get, as nested lists: a matrix, its like, a square, a vector, an image.
ARGUMENTS: dict[str, Any] = {
    "x": [[0.5, -1.0, 2.0], [1.5, 0.25, -0.75]],
    "y": [[1.0, 2.0, -0.5], [0.75, -1.25, 3.0]],
    "q": [[2.0, 0.5, -1.0], [0.25, 1.5, 0.5], [-0.5, 1.0, 3.0]],
    "v": [0.5, -2.0, 1.25],
    "b": [[[0.5, 1.0], [2.0, -1.0], [0.0, 1.0]], [[1.0, -0.5], [0.75, 2.0], [1.0, 1.5]]],
}

Program = Callable[[Any, Any, Any, Any, Any, Any], Any]

#: Of the module and the tensors: arithmetic and functions of elements.
ELEMENTWISE: dict[str, Program] = {
    "add": lambda t, x, y, q, v, b: x + y,
    "add a number": lambda t, x, y, q, v, b: x + 1.5,
    "add with alpha": lambda t, x, y, q, v, b: t.add(x, y, alpha=2),
    "add broadcast": lambda t, x, y, q, v, b: x + v,
    "sub": lambda t, x, y, q, v, b: x - y,
    "sub a number": lambda t, x, y, q, v, b: x - 2,
    "rsub": lambda t, x, y, q, v, b: 1 - x,
    "mul": lambda t, x, y, q, v, b: x * y,
    "mul a number": lambda t, x, y, q, v, b: 3 * x,
    "mul itself": lambda t, x, y, q, v, b: x * x,
    "div": lambda t, x, y, q, v, b: x / y,
    "div by a number": lambda t, x, y, q, v, b: x / 4,
    "reciprocal": lambda t, x, y, q, v, b: 1 / x,
    "neg": lambda t, x, y, q, v, b: -x,
    "abs": lambda t, x, y, q, v, b: x.abs(),
    "square": lambda t, x, y, q, v, b: x**2,
    "cube": lambda t, x, y, q, v, b: x.pow(3),
    "pow of tensors": lambda t, x, y, q, v, b: x.abs() ** y,
    "exp": lambda t, x, y, q, v, b: x.exp(),
    "log": lambda t, x, y, q, v, b: t.log(x.abs()),
    "sqrt": lambda t, x, y, q, v, b: x.abs().sqrt(),
    "rsqrt": lambda t, x, y, q, v, b: x.abs().rsqrt(),
    "sin": lambda t, x, y, q, v, b: x.sin(),
    "cos": lambda t, x, y, q, v, b: x.cos(),
    "tanh": lambda t, x, y, q, v, b: x.tanh(),
    "sigmoid": lambda t, x, y, q, v, b: t.sigmoid(x),
    "erf": lambda t, x, y, q, v, b: t.erf(x),
    "a scalar tensor": lambda t, x, y, q, v, b: (x * y.sum() + v.mean()) / q.max(),
    "arguments by name": lambda t, x, y, q, v, b: t.add(input=x, other=y).sum(dim=1, keepdim=True),
    "maximum": lambda t, x, y, q, v, b: t.maximum(x, y),
    "clamp": lambda t, x, y, q, v, b: x.clamp(-0.5, 1.0),
    "clamp below": lambda t, x, y, q, v, b: x.clamp(min=0),
    "where": lambda t, x, y, q, v, b: t.where(x > 0, x, y),
    "where a number": lambda t, x, y, q, v, b: t.where(x > 0, x, 0.0),
    "comparisons": lambda t, x, y, q, v, b: (x > y, x == 1, x <= 0, t.ne(x, y)),
    "logical": lambda t, x, y, q, v, b: ~((x > 0) & (y > 0)),
    "masked_fill": lambda t, x, y, q, v, b: x.masked_fill(x > 0, 0.5),
    "addcmul": lambda t, x, y, q, v, b: t.addcmul(x, y, y, value=0.5),
    "lerp": lambda t, x, y, q, v, b: t.lerp(x, y, 0.5),
    "atan2": lambda t, x, y, q, v, b: t.atan2(x, y),
    "floor": lambda t, x, y, q, v, b: x.floor(),
    "sign": lambda t, x, y, q, v, b: x.sign(),
    "round": lambda t, x, y, q, v, b: x.round(),
}
PRODUCTS: dict[str, Program] = {
    "tensordot": lambda t, x, y, q, v, b: t.tensordot(x, q, 1),
    "tensordot of dimensions": lambda t, x, y, q, v, b: t.tensordot(b, y, ([2, 1], [0, 1])),
    "mm": lambda t, x, y, q, v, b: x.mm(q),
    "matmul of matrices": lambda t, x, y, q, v, b: x @ q,
    "matmul with a vector": lambda t, x, y, q, v, b: x @ v,
    "matmul of a vector": lambda t, x, y, q, v, b: v @ q,
    "dot": lambda t, x, y, q, v, b: v @ v,
    "matmul of a batch": lambda t, x, y, q, v, b: b @ x,
    "bmm": lambda t, x, y, q, v, b: b.bmm(b.transpose(1, 2)),
    "addmm": lambda t, x, y, q, v, b: t.addmm(v, x, q),
    "linear": lambda t, x, y, q, v, b: t.nn.functional.linear(x, q, v),
    "linear without bias": lambda t, x, y, q, v, b: t.nn.functional.linear(x, q),
    "linear of a batch": lambda t, x, y, q, v, b: t.nn.functional.linear(b.mT, q, v),
    "outer": lambda t, x, y, q, v, b: t.outer(v, v),
    "mv": lambda t, x, y, q, v, b: q.mv(v),
}
VIEWS: dict[str, Program] = {
    "diagonal of batches": lambda t, x, y, q, v, b: t.linalg.diagonal(b, offset=-1),
    "as_strided": lambda t, x, y, q, v, b: x.as_strided((2, 2), (1, 1), 1),
    "index_fill": lambda t, x, y, q, v, b: x.index_fill(1, t.tensor([1]), 2.0),
    "index_fill of a tensor": lambda t, x, y, q, v, b: x.index_fill(1, t.tensor([1, 1]), v[0]),
    "view": lambda t, x, y, q, v, b: x.view(3, 2),
    "reshape": lambda t, x, y, q, v, b: x.reshape(-1),
    "reshape a transpose": lambda t, x, y, q, v, b: x.t().reshape(6),
    "flatten": lambda t, x, y, q, v, b: b.flatten(1),
    "t": lambda t, x, y, q, v, b: x.t() * 2,
    "T": lambda t, x, y, q, v, b: x.T * 2,
    "transpose": lambda t, x, y, q, v, b: b.transpose(0, 2),
    "permute": lambda t, x, y, q, v, b: b.permute(2, 0, 1),
    "unsqueeze": lambda t, x, y, q, v, b: x.unsqueeze(1),
    "squeeze": lambda t, x, y, q, v, b: x.unsqueeze(1).squeeze(1),
    "expand": lambda t, x, y, q, v, b: v.expand(2, 3),
    "select": lambda t, x, y, q, v, b: x[1],
    "slice": lambda t, x, y, q, v, b: x[:, 1:],
    "select and slice": lambda t, x, y, q, v, b: x[0, :2],
    "new dimension": lambda t, x, y, q, v, b: x[:, None],
    "index": lambda t, x, y, q, v, b: x[t.tensor([1, 0, 1])],
    "narrow": lambda t, x, y, q, v, b: x.narrow(1, 0, 2),
    "split": lambda t, x, y, q, v, b: x.split(2, 1),
    "chunk": lambda t, x, y, q, v, b: x.chunk(2),
    "unbind": lambda t, x, y, q, v, b: x.unbind(0),
    "diagonal": lambda t, x, y, q, v, b: q.diagonal(),
    "clone": lambda t, x, y, q, v, b: x.clone(),
    "contiguous": lambda t, x, y, q, v, b: x.t().contiguous(),
    "detach": lambda t, x, y, q, v, b: x.detach() * y,
    "cat": lambda t, x, y, q, v, b: t.cat([x, y]),
    "stack": lambda t, x, y, q, v, b: t.stack([x, y], 1),
    "repeat": lambda t, x, y, q, v, b: x.repeat(2, 1),
    "flip": lambda t, x, y, q, v, b: x.flip(1),
    "tril": lambda t, x, y, q, v, b: q.tril(),
    "gather": lambda t, x, y, q, v, b: x.gather(1, t.tensor([[0, 2], [1, 1]])),
    "index_select": lambda t, x, y, q, v, b: x.index_select(1, t.tensor([2, 0])),
    "double": lambda t, x, y, q, v, b: x.double(),
    "to": lambda t, x, y, q, v, b: x.to(t.float64) * 2,
    "pad": lambda t, x, y, q, v, b: t.nn.functional.pad(x, (1, 1)),
}
REDUCTIONS: dict[str, Program] = {
    "sum": lambda t, x, y, q, v, b: x.sum(),
    "sum of a dimension": lambda t, x, y, q, v, b: x.sum(1),
    "sum with keepdim": lambda t, x, y, q, v, b: x.sum(0, keepdim=True),
    "mean": lambda t, x, y, q, v, b: x.mean(),
    "mean of dimensions": lambda t, x, y, q, v, b: b.mean((0, 1)),
    "amax": lambda t, x, y, q, v, b: x.amax(1),
    "max": lambda t, x, y, q, v, b: x.max(),
    "max of a dimension": lambda t, x, y, q, v, b: tuple(x.max(1)),
    "argmax": lambda t, x, y, q, v, b: x.argmax(1),
    "var": lambda t, x, y, q, v, b: x.var(1),
    "std": lambda t, x, y, q, v, b: x.std(),
    "norm": lambda t, x, y, q, v, b: t.linalg.vector_norm(x),
    "prod": lambda t, x, y, q, v, b: x.prod(),
    "cumsum": lambda t, x, y, q, v, b: x.cumsum(1),
    "logsumexp": lambda t, x, y, q, v, b: x.logsumexp(1),
    "softmax": lambda t, x, y, q, v, b: x.softmax(1),
    "log_softmax": lambda t, x, y, q, v, b: t.nn.functional.log_softmax(x, -1),
    "any": lambda t, x, y, q, v, b: (x > 0).any(),
    "sort": lambda t, x, y, q, v, b: tuple(x.sort(1)),
    "topk": lambda t, x, y, q, v, b: tuple(x.topk(2, 1)),
}


def _of(write: Callable[[Any], Any]) -> Program:
    """A program that writes to a tensor with a history, and gives it."""

    def program(t: Any, x: Any, y: Any, q: Any, v: Any, b: Any) -> Any:
        z = x * 2
        write(z)
        return z

    return program


def _updated(t: Any, x: Any, y: Any, q: Any, v: Any, b: Any) -> Any:
    with t.no_grad():
        x.add_(y, alpha=-0.5)
        x.mul_(0.5)
    return x


IN_PLACE: dict[str, Program] = {
    "add_": _of(lambda z: z.add_(1)),
    "add_ of itself": _of(lambda z: z.add_(z)),
    "mul_": _of(lambda z: z.mul_(3)),
    "div_": _of(lambda z: z.div_(2)),
    "relu_": _of(lambda z: z.relu_()),
    "clamp_": _of(lambda z: z.clamp_(min=0)),
    "zero_": _of(lambda z: z.zero_()),
    "fill_": _of(lambda z: z.fill_(2)),
    "copy_": lambda t, x, y, q, v, b: (x * 2).copy_(y),
    "operators": lambda t, x, y, q, v, b: _augmented(x * 1, y),
    "no_grad": _updated,
}


def _augmented(z: Any, y: Any) -> Any:
    z += y
    z *= 2
    return z


LAYERS: dict[str, Program] = {
    "relu": lambda t, x, y, q, v, b: t.relu(x),
    "functional relu": lambda t, x, y, q, v, b: t.nn.functional.relu(x),
    "gelu": lambda t, x, y, q, v, b: t.nn.functional.gelu(x),
    "silu": lambda t, x, y, q, v, b: t.nn.functional.silu(x),
    "leaky_relu": lambda t, x, y, q, v, b: t.nn.functional.leaky_relu(x, 0.1),
    "elu": lambda t, x, y, q, v, b: t.nn.functional.elu(x),
    "softplus": lambda t, x, y, q, v, b: t.nn.functional.softplus(x),
    "layer_norm": lambda t, x, y, q, v, b: t.nn.functional.layer_norm(x, (3,), v, v),
    "embedding": lambda t, x, y, q, v, b: t.nn.functional.embedding(t.tensor([0, 1, 1]), x),
    "dropout of no training": lambda t, x, y, q, v, b: t.nn.functional.dropout(x, 0.5, False),
    "conv1d": lambda t, x, y, q, v, b: t.nn.functional.conv1d(b, b[:, :, :1]),
    "max_pool1d": lambda t, x, y, q, v, b: t.nn.functional.max_pool2d(b, 2),
    "avg_pool2d": lambda t, x, y, q, v, b: t.nn.functional.avg_pool2d(b, 2),
    "mse_loss": lambda t, x, y, q, v, b: t.nn.functional.mse_loss(x, y),
    "l1_loss": lambda t, x, y, q, v, b: t.nn.functional.l1_loss(x, y),
    "cross_entropy": lambda t, x, y, q, v, b: t.nn.functional.cross_entropy(x, t.tensor([2, 0])),
    "nll_loss": lambda t, x, y, q, v, b: t.nn.functional.nll_loss(x, t.tensor([2, 0])),
    "bce with logits": lambda t, x, y, q, v, b: t.nn.functional.binary_cross_entropy_with_logits(
        x, y.sigmoid()
    ),
    "batch_norm": lambda t, x, y, q, v, b: t.nn.functional.batch_norm(
        x, None, None, v, v, training=True
    ),
    "batch_norm with statistics": lambda t, x, y, q, v, b: t.nn.functional.batch_norm(
        x, t.zeros(3), t.ones(3), v, v, training=True
    ),
    "threshold": lambda t, x, y, q, v, b: t.nn.functional.threshold(x, 0.3, 5.0),
    "unfold": lambda t, x, y, q, v, b: t.nn.functional.unfold(b[None], 2, padding=1),
    "fold": lambda t, x, y, q, v, b: t.nn.functional.fold(b.view(1, 4, 3), (2, 4), 2),
    "instance_norm": lambda t, x, y, q, v, b: t.nn.functional.instance_norm(
        b, t.zeros(3), t.ones(3), v, v
    ),
    "reflection_pad": lambda t, x, y, q, v, b: t.nn.functional.pad(b, (1, 1), mode="reflect"),
    "replication_pad": lambda t, x, y, q, v, b: t.nn.functional.pad(
        b[None], (1, 2, 0, 1), mode="replicate"
    ),
    "module": lambda t, x, y, q, v, b: t.nn.ReLU()(x) + t.nn.Softmax(1)(y),
    "factories": lambda t, x, y, q, v, b: x + t.ones(3) * t.zeros(2, 3) + t.full((3,), 2.0),
    "like": lambda t, x, y, q, v, b: t.ones_like(x) + x.new_zeros(3) + t.zeros_like(x),
    "arange": lambda t, x, y, q, v, b: x + t.arange(3),
}
PROGRAMS: dict[str, Program] = ELEMENTWISE | PRODUCTS | VIEWS | REDUCTIONS | IN_PLACE | LAYERS
