"""Further ordinary mistakes, for either library `t`, with a word that our message must have."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import numpy as np


def _leaf(t: Any) -> Any:
    return t.ones(1, requires_grad=True)


def _sgd(t: Any, **options: Any) -> Any:
    return t.optim.SGD([_leaf(t)], lr=0.1, **options)


def _loader(t: Any, data: Any, **options: Any) -> Any:
    return t.utils.data.DataLoader(data, **options)


def _stream(t: Any) -> Any:
    return type("Stream", (t.utils.data.IterableDataset,), {"__iter__": lambda self: iter([1])})()


def _without_items(t: Any) -> Any:
    return type("Items", (t.utils.data.Dataset,), {"__len__": lambda self: 1})()


def _prefixed_state(t: Any) -> dict[str, Any]:
    state = t.nn.Linear(2, 2).state_dict()
    return {f"module.{name}": value for name, value in state.items()}


Mistake = tuple[Callable[[Any], Any], str]
LAYERS: dict[str, Mistake] = {
    "a linear layer of an image": (
        lambda t: t.nn.Linear(784, 10)(t.ones(2, 1, 28, 28)),
        "784",
    ),
    "a linear layer of float64": (
        lambda t: t.nn.Linear(2, 1)(t.ones(3, 2, dtype=t.float64)),
        "float64 and float32",
    ),
    "a convolution of bytes": (
        lambda t: t.nn.Conv2d(1, 1, 3)(t.ones(1, 1, 8, 8, dtype=t.uint8)),
        "uint8",
    ),
    "a layer without input": (lambda t: t.nn.Linear(2, 2)(), "input"),
    "a layer of a list": (lambda t: t.nn.Linear(2, 2)([1.0, 2.0]), "list"),
    "a layer of an array": (lambda t: t.nn.Linear(2, 2)(np.ones((1, 2), np.float32)), "ndarray"),
    "a layer with a width that is no integer": (lambda t: t.nn.Linear(2.5, 2), "2.5"),
    "a layer of negative width": (lambda t: t.nn.Linear(-2, 2), "negative dimension -2"),
    "an embedding of a negative number": (lambda t: t.nn.Embedding(-1, 2), "negative dimension -1"),
    "a module without forward": (lambda t: t.nn.Module()(t.ones(1)), "forward"),
    "a list of modules called": (lambda t: t.nn.ModuleList([t.nn.ReLU()])(t.ones(1)), "forward"),
    "a sequence of a list": (lambda t: t.nn.Sequential([t.nn.ReLU()]), "list"),
    "a list of functions": (lambda t: t.nn.ModuleList([t.relu]), "function"),
    "a buffer that is a number": (lambda t: t.nn.Module().register_buffer("x", 1.0), "float"),
    "a name with a dot": (lambda t: t.nn.Module().add_module("a.b", t.nn.ReLU()), "a.b"),
    "an LSTM of another width": (lambda t: t.nn.LSTM(3, 2)(t.ones(1, 1, 4)), "3.*4"),
    "a normalization of other channels": (
        lambda t: t.nn.BatchNorm2d(3)(t.ones(1, 4, 2, 2)),
        "4.*3",
    ),
    "a normalization of rows": (lambda t: t.nn.BatchNorm2d(3)(t.ones(1, 3)), "4D"),
    "a normalization of another shape": (lambda t: t.nn.LayerNorm(3)(t.ones(2, 4)), "4"),
    "groups of channels that do not divide": (lambda t: t.nn.GroupNorm(2, 3), "divisible"),
    "attention of another width": (
        lambda t: t.nn.MultiheadAttention(4, 2)(*[t.ones(2, 1, 3)] * 3),
        "3",
    ),
    "a window larger than the image": (
        lambda t: t.nn.MaxPool2d(5)(t.ones(1, 1, 3, 3)),
        "too small",
    ),
}
LOSSES: dict[str, Mistake] = {
    "a label that is no class": (
        lambda t: t.nn.functional.cross_entropy(t.ones(2, 3), t.full((2,), 3)).item(),
        "Target 3",
    ),
    "scores in the place of labels": (
        lambda t: t.nn.functional.cross_entropy(t.zeros(2, dtype=t.int64), t.ones(2, 3)),
        "int64",
    ),
    "scores in the place of probabilities": (
        lambda t: t.nn.functional.binary_cross_entropy(t.full((2,), 1.5), t.ones(2)).item(),
        "between 0 and 1",
    ),
    "a row of targets for a column": (
        lambda t: t.nn.functional.binary_cross_entropy_with_logits(t.ones(2, 1), t.ones(2)),
        "size",
    ),
    "one class too few": (
        lambda t: t.nn.functional.one_hot(t.tensor([3]), 2).sum().item(),
        "num_classes",
    ),
    "an index that the table has not": (
        lambda t: t.nn.Embedding(3, 2)(t.tensor([3])).sum().item(),
        "index 3",
    ),
}
GRADIENTS: dict[str, Mistake] = {
    "no gradient for a result": (
        lambda t: setattr(_leaf(t) * 2, "requires_grad", False),
        "detach",
    ),
    "a slice of a leaf assigned": (lambda t: _leaf(t).__setitem__(0, 1), "in-place"),
    "a gradient of another shape": (lambda t: (_leaf(t) * 2).backward(t.ones(3)), "shape"),
    "a gradient by what was not used": (
        lambda t: t.autograd.grad((_leaf(t) * 2).sum(), _leaf(t)),
        "allow_unused",
    ),
    "a gradient that is a number": (lambda t: setattr(_leaf(t), "grad", 1.0), "float"),
    "a gradient assigned of another shape": (
        lambda t: setattr(_leaf(t), "grad", t.ones(3)),
        "3",
    ),
}
OPTIMIZERS: dict[str, Mistake] = {
    "an optimizer of results": (lambda t: t.optim.SGD([_leaf(t) * 2], lr=0.1), "leaf"),
    "a parameter in two groups": (
        lambda t: t.optim.SGD([{"params": [p]} for p in [_leaf(t)] * 2], lr=0.1),
        "more than one",
    ),
    "a beta of 1": (lambda t: t.optim.Adam([_leaf(t)], betas=(1.0, 0.9)), "1.0"),
    "a negative momentum": (lambda t: _sgd(t, momentum=-1), "-1"),
    "Nesterov's method without momentum": (lambda t: _sgd(t, nesterov=True), "momentum"),
    "an argument that optimizers do not have": (lambda t: _sgd(t, momentun=0.9), "momentun"),
    "a schedule of a module": (
        lambda t: t.optim.lr_scheduler.StepLR(t.nn.Linear(2, 2), 3),
        "Optimizer",
    ),
    "a schedule without its length": (
        lambda t: t.optim.lr_scheduler.StepLR(_sgd(t)),
        "step_size",
    ),
    "a state of another model's optimizer": (
        lambda t: _sgd(t).load_state_dict(
            t.optim.SGD(t.nn.Linear(2, 2).parameters(), lr=0.1).state_dict()
        ),
        "size",
    ),
}
DATA: dict[str, Mistake] = {
    "a sampler and shuffle": (lambda t: _loader(t, [1, 2], shuffle=True, sampler=[0]), "shuffle"),
    "batches of none": (lambda t: _loader(t, [1, 2], batch_size=0), "0"),
    "a negative number of workers": (lambda t: _loader(t, [1, 2], num_workers=-1), "num_workers"),
    "a batch of different shapes": (
        lambda t: list(_loader(t, [t.ones(2), t.ones(3)], batch_size=2)),
        "equal size",
    ),
    "a batch of objects": (lambda t: list(_loader(t, [object()])), "object"),
    "shuffle of a stream": (lambda t: _loader(t, _stream(t), shuffle=True), "shuffle"),
    "the length of a stream": (lambda t: len(_stream(t)), "len"),
    "data without items": (lambda t: list(_loader(t, _without_items(t))), "__getitem__"),
    "tensors of other lengths": (
        lambda t: t.utils.data.TensorDataset(t.ones(2), t.ones(3)),
        "size",
    ),
    "parts that are not all": (lambda t: t.utils.data.random_split([1, 2, 3], [1, 1]), "length"),
}
FILES: dict[str, Mistake] = {
    "a file that is not there": (lambda t: t.load("/nowhere/model.pt"), "/nowhere/model.pt"),
    "a file that is no checkpoint": (lambda t: t.load(io.BytesIO(b"no checkpoint")), "load"),
    "a module in the place of its state": (
        lambda t: t.nn.Linear(2, 2).load_state_dict(t.nn.Linear(2, 2)),
        "dict",
    ),
    "a path in the place of a state": (
        lambda t: t.nn.Linear(2, 2).load_state_dict("model.pt"),
        "dict",
    ),
    "a state of a parallel module": (
        lambda t: t.nn.Linear(2, 2).load_state_dict(_prefixed_state(t)),
        "module.weight",
    ),
}
TENSORS: dict[str, Mistake] = {
    "to two dtypes": (lambda t: t.ones(2).to(t.float32, t.float64), "two|combination"),
    "a device without a colon": (lambda t: t.ones(2).to("cuda0"), "cuda0"),
    "a negative size to expand to": (lambda t: t.ones(1).expand(-3), "-3"),
    "a dtype as text": (lambda t: t.ones(2, dtype="float32"), "dtype"),
    "an array that is a list": (lambda t: t.from_numpy([1, 2]), "list"),
    "a tensor of None": (lambda t: t.tensor(None), "None"),
    "where of other shapes": (lambda t: t.where(t.ones(2) > 0, t.ones(3), t.ones(2)), "3"),
    "einsum of other sizes": (
        lambda t: t.einsum("ij,jk->ik", t.ones(2, 3), t.ones(2, 3)),
        "subscript j",
    ),
    "bits of floats": (lambda t: t.ones(2) | t.ones(2), "float"),
    "the length of a number": (lambda t: len(t.tensor(1.0)), "0-d"),
    "int of two": (lambda t: int(t.ones(2)), "one element"),
    "the largest of none": (lambda t: t.ones(0).max(), "dim"),
    "more than there are": (lambda t: t.ones(2).topk(3), "k"),
    "a tensor and a number in a row": (lambda t: t.cat([t.ones(2), 3]), "int"),
    "a transpose of three dimensions": (lambda t: t.ones(2, 2, 2).t(), "3D"),
}
FURTHER_MISTAKES = LAYERS | LOSSES | GRADIENTS | OPTIMIZERS | DATA | FILES | TENSORS
