"""A law of everything that takes a truth value: a text is none, by position and by keyword."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import oneflow as flow
from oneflow import nn
from oneflow.functional.registry import FUNCTIONS
from oneflow.nn import functional as F

_ANNOTATIONS = ("bool", "bool | None")
_BY_POSITION = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
# They say where an array comes from, and are for the library itself.
INTERNAL = {"_make_subclass", "_replace_with_view"}
# Nothing waits for a transfer, and memory is what the device needs, whatever the argument is.
WITHOUT_EFFECT = {"cuda"}
IGNORED = {"pin_memory"}
# They return indices, whatever the argument of the function that they share a body with.
WITH_INDICES = ("_with_indices", "adaptive_max_pool1d")


def flags_of(function: Callable[..., Any]) -> Iterator[tuple[int, inspect.Parameter]]:
    for place, parameter in enumerate(inspect.signature(function).parameters.values()):
        if parameter.annotation in _ANNOTATIONS:
            yield place, parameter


def refuses(function: Callable[..., Any], name: str, *args: Any, **kwargs: Any) -> bool:
    try:
        function(*args, **kwargs)
    except TypeError as error:
        return f"'{name}'" in str(error) and "must be bool, not str" in str(error)
    except Exception:
        return False
    return False


def takes_no_more(function: Callable[..., Any], *args: Any) -> bool:
    try:
        function(*args)
    except TypeError as error:
        return "positional argument" in str(error)
    except Exception:
        return False
    return False


def problems_of(path: str, function: Callable[..., Any], *first: Any) -> Iterator[str]:
    for place, parameter in flags_of(function):
        name = parameter.name
        if name in IGNORED or (name == "return_indices" and path.endswith(WITH_INDICES)):
            continue
        if not refuses(function, name, *first, **{name: "no"}):
            yield f"{path}({name}='no')"
        if parameter.kind in _BY_POSITION:
            before = (*first, *[None] * (place - len(first)))
            if not refuses(function, name, *before, "no"):
                yield f"{path} with 'no' for {name}"
            if not refuses(function, name, *before, "no", None) and not takes_no_more(
                function, *before, "no", None
            ):
                yield f"{path} with 'no' for {name}, and more behind it"


# In-place forms are wrappers of these.
@pytest.mark.parametrize("path", [path for path in FUNCTIONS if not path.endswith("_")])
def test_functions_refuse_texts(path: str) -> None:
    assert not [*problems_of(path, FUNCTIONS[path])]


def test_methods_refuse_texts() -> None:
    problems = []
    for name in set(dir(flow.Tensor)) - INTERNAL - WITHOUT_EFFECT:
        method = inspect.getattr_static(flow.Tensor, name)
        if inspect.isfunction(method) and not name.startswith("__"):
            problems += problems_of(name, method, flow.ones(2))
    assert not problems, "\n".join(problems)


def test_functions_of_autograd_refuse_texts() -> None:
    y = flow.ones(2, requires_grad=True).sum()
    functions = (flow.autograd.backward, flow.autograd.grad)
    problems = [text for f in functions for text in problems_of(f.__name__, f, y)]
    problems += problems_of("use_deterministic_algorithms", flow.use_deterministic_algorithms)
    assert not problems, "\n".join(problems)
    was_enabled = flow.is_grad_enabled()
    with pytest.raises(TypeError, match="'mode' must be bool, not str"):
        flow.set_grad_enabled("no")
    assert flow.is_grad_enabled() == was_enabled


X = flow.ones(2, 2)
ROWS = X[None, None]
LABELS = flow.tensor([0])
# Layers of which PyTorch refuses a text, when they are made or called.
LAYERS: dict[str, Callable[[], Any]] = {
    "LSTM bidirectional": lambda: nn.LSTM(2, 2, bidirectional="no")(X),
    "LSTM batch_first": lambda: nn.LSTM(2, 2, batch_first="no")(X),
    "GRU bias": lambda: nn.GRU(2, 2, bias="no")(X),
    "Embedding scale_grad_by_freq": lambda: nn.Embedding(2, 2, scale_grad_by_freq="no")(LABELS),
    "Embedding sparse": lambda: nn.Embedding(2, 2, sparse="no")(LABELS),
    "EmbeddingBag": lambda: nn.EmbeddingBag(2, 2, include_last_offset="no")(LABELS, LABELS),
    "AvgPool1d ceil_mode": lambda: nn.AvgPool1d(2, ceil_mode="no")(X),
    "AvgPool2d count_include_pad": lambda: nn.AvgPool2d(2, count_include_pad="no")(ROWS),
    "MaxPool1d ceil_mode": lambda: nn.MaxPool1d(2, ceil_mode="no")(X),
    "LPPool1d ceil_mode": lambda: nn.LPPool1d(2, 2, ceil_mode="no")(X),
    "Upsample": lambda: nn.Upsample(scale_factor=2, mode="bilinear", align_corners="no")(ROWS),
    "TripletMarginLoss": lambda: nn.TripletMarginLoss(swap="no")(X, X, X),
    "KLDivLoss": lambda: nn.KLDivLoss(log_target="no", reduction="sum")(X, X),
    "PoissonNLLLoss": lambda: nn.PoissonNLLLoss(log_input="no")(X, X),
    "CTCLoss": lambda: nn.CTCLoss(zero_infinity="no")(
        flow.ones(2, 1, 3), LABELS[None] + 1, LABELS + 2, LABELS + 1
    ),
    "PairwiseDistance": lambda: nn.PairwiseDistance(keepdim="no")(X, X),
    "ReLU": lambda: nn.ReLU(inplace="no")(X),
    "attention": lambda: F.scaled_dot_product_attention(ROWS, ROWS, ROWS, is_causal="no"),
    "Parameter": lambda: nn.Parameter(X, requires_grad="no"),
    "Module": lambda: nn.Linear(2, 2).requires_grad_("no"),
}


@pytest.mark.parametrize(
    "make",
    [
        lambda flag: nn.MaxPool2d(2, ceil_mode=flag),
        lambda flag: nn.AvgPool2d(2, ceil_mode=flag),
        lambda flag: nn.LSTM(2, 2, bidirectional=flag),
        lambda flag: nn.Embedding(2, 2, sparse=flag),
    ],
    ids=["MaxPool2d", "AvgPool2d", "LSTM", "Embedding"],
)
def test_errors_name_the_layer(make: Callable[[Any], Any]) -> None:
    with pytest.raises(TypeError, match=rf"^{type(make(False)).__name__}\(\): argument"):
        make("no")


@pytest.mark.parametrize("name", LAYERS)
def test_layers_refuse_texts(name: str) -> None:
    with pytest.raises(TypeError, match="bool"):
        LAYERS[name]()


# Texts behind the arguments, as OneFlow 0.x let programs name each operator.
NAMES = {
    "relu": lambda x: flow.relu(x, "relu1"),
    "cast": lambda x: flow.cast(x, flow.float64, "cast1"),
    "argsort": lambda x: flow.argsort(x, -1, False, "argsort1"),
    "masked_fill": lambda x: flow.masked_fill(x, x > 1, 1.0, "masked_fill1"),
    "dropout": lambda x: F.dropout(x, 0.5, "no"),
}


@pytest.mark.parametrize("name", NAMES)
def test_texts_change_nothing(name: str) -> None:
    x = flow.tensor([[-2.0, 1.0], [3.0, -4.0]])
    with pytest.raises(TypeError, match="must be bool, not str"):
        NAMES[name](x)
    assert np.array_equal(x.numpy(), [[-2.0, 1.0], [3.0, -4.0]])
