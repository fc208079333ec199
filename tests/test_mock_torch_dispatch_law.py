"""The law of ``__torch_dispatch__``: operators, values and gradients are those of PyTorch.

Each program runs under a mode that notes operators, and on wrapper tensors whose class does.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils import _python_dispatch, _pytree

from tests.dispatch_programs import ARGUMENTS, PROGRAMS
from tests.in_place import dispatch_enabled, in_place_of

OURS = in_place_of("torch")
_TREES = {torch: _pytree, OURS: in_place_of("torch.utils._pytree")}
_MODES = {
    torch: _python_dispatch.TorchDispatchMode,
    OURS: in_place_of("torch.utils._python_dispatch").TorchDispatchMode,
}
#: Bookkeeping of PyTorch's that is no part of a program: it detaches results that it keeps, and
#: batch normalization makes an empty tensor.
_BOOKKEEPING = {"aten.detach.default", "aten.empty.memory_format"}
#: Programs whose operators are others here: `x @ y` of a vector squeezes in place in PyTorch.
_OTHER_OPERATORS = {"matmul of a vector"}
#: Programs whose backward passes are one operator here, `aten.X_backward`, or one less; that of
#: `as_strided` does not write in place, and `unique` is one operator.
_OTHER_BACKWARD = {
    "atan2",
    "max",
    "norm",
    "prod",
    "mse_loss",
    "bce with logits",
    "index_select",
} | {
    "a scalar tensor",
    "as_strided",
    "index_fill of a tensor",
}


@pytest.fixture(scope="module", autouse=True)
def _dispatch() -> Iterator[None]:
    with dispatch_enabled():
        yield


def _mode(library: Any, log: list[str]) -> Any:
    class Noting(_MODES[library]):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            log.append(str(func))
            return func(*args, **(kwargs or {}))

    return Noting()


def _wrapper(library: Any, log: list[str]) -> Any:
    tree_map = _TREES[library].tree_map

    class Wrapper(library.Tensor):
        @staticmethod
        def __new__(cls, inner, requires_grad=False):
            options = {"dtype": inner.dtype, "device": inner.device}
            size = tuple(inner.shape)
            self = library.Tensor._make_wrapper_subclass(
                cls, size, requires_grad=requires_grad, **options
            )
            self.held = inner
            return self

        __torch_function__ = library._C._disabled_torch_function_impl

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            log.append(str(func))

            def unwrap(x):
                return x.held if isinstance(x, cls) else x

            def wrap(x):
                return cls(x) if isinstance(x, library.Tensor) else x

            result = func(*tree_map(unwrap, args), **tree_map(unwrap, kwargs or {}))
            is_write = func.overloadpacket.__name__.endswith("_")
            return args[0] if is_write else tree_map(wrap, result)

    return Wrapper


def _numbers(x: Any) -> Any:
    return None if x is None else getattr(x, "held", x).detach().numpy()


def _outcome(library: Any, name: str, way: str) -> tuple[Any, ...]:
    """Outcome of a program: results, gradients, operators of both passes, kinds."""
    log: list[str] = []
    needs_grad = name != "no_grad"
    context: Any = contextlib.nullcontext()
    if way == "mode":
        context = _mode(library, log)
        tensors = [library.tensor(v, requires_grad=needs_grad) for v in ARGUMENTS.values()]
    else:
        kind = _wrapper(library, log)
        tensors = [kind(library.tensor(v), needs_grad) for v in ARGUMENTS.values()]
    with context:
        result = PROGRAMS[name](library, *tensors)
        leaves = _TREES[library].tree_leaves(result)
        outputs = [x for x in leaves if isinstance(x, library.Tensor)]
        roots = [x for x in outputs if x.requires_grad]
        forward = log[:]
        seeds = [library.ones_like(x) for x in roots]
        del log[:]
        gradients = library.autograd.grad(roots, tensors, seeds, allow_unused=True) if roots else ()
    kinds = [(type(x).__name__, x.requires_grad, x.is_leaf) for x in outputs]
    operators = [[f for f in ops if f not in _BOOKKEEPING] for ops in (forward, log)]
    values = [_numbers(x) for x in (*outputs, *gradients)]
    return values, kinds, *operators


@pytest.mark.parametrize("way", ["mode", "wrapper"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_are_those_of_pytorch(name: str, way: str) -> None:
    try:
        expected = _outcome(torch, name, way)
    except (
        RuntimeError
    ):  # a wrapper tells PyTorch of strides that are not those of its inner tensor
        pytest.skip("PyTorch refuses the program")
    values, kinds, forward, backward = _outcome(OURS, name, way)
    assert len(values) == len(expected[0])
    for mine, its in zip(values, expected[0], strict=True):
        assert (mine is None) == (its is None)
        if mine is not None:
            assert mine.dtype == its.dtype
            np.testing.assert_allclose(mine, its, rtol=1e-4, atol=1e-5)
    if way == "wrapper":
        assert kinds == expected[1]
    if name not in _OTHER_OPERATORS:
        assert forward == expected[2]
    if name not in _OTHER_BACKWARD:
        assert backward == expected[3]
