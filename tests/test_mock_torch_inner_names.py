"""Inner names of PyTorch that its tests use: each program gives what it gives on PyTorch."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import oneflow.mock_torch

MASK = [[True, True, False], [True, False, False]]


def _parts(nested: Any) -> list[Any]:
    return [part.tolist() for part in nested.unbind()]


def _from_mask(torch: Any, folder: Path) -> Any:
    batch = torch.arange(12.0).reshape(2, 3, 2)
    mask = torch.tensor(MASK)
    gaps = mask.flip(1)
    with pytest.raises(RuntimeError, match="left-aligned"):
        torch._nested_tensor_from_mask(batch, gaps)
    with pytest.raises(RuntimeError, match="match input size"):
        torch._nested_tensor_from_mask(batch, mask[:, :2])
    with pytest.raises(RuntimeError, match="Bool"):
        torch._nested_tensor_from_mask(batch, mask.float())
    return (
        _parts(torch._nested_tensor_from_mask(batch, mask)),
        _parts(torch._nested_tensor_from_mask(batch, gaps, False)),
        torch._nested_tensor_from_mask_left_aligned(batch, mask),
        torch._nested_tensor_from_mask_left_aligned(batch, gaps),
    )


def _from_padded(torch: Any, folder: Path) -> Any:
    batch = torch.arange(12.0).reshape(2, 3, 2).requires_grad_()
    nested = torch._nested_from_padded(batch, torch.tensor([[1, 2], [2, 1]]))
    torch.nested.to_padded_tensor(nested, 0.0).sum().backward()
    heads = torch.arange(32.0).reshape(2, 2, 2, 4)
    example = torch.nested.nested_tensor([torch.ones(1, 2), torch.ones(2, 1)])
    return (
        batch.grad,
        _parts(torch._nested_from_padded(heads, torch.tensor([[1, 8], [2, 8]]), True)),
        _parts(torch._nested_from_padded_and_nested_example(batch, example)),
    )


def _empty_nested(torch: Any, folder: Path) -> Any:
    empty = torch.nested.nested_tensor([])
    with pytest.raises(RuntimeError, match="empty nested"):
        empty.reshape(-1)
    with pytest.raises(RuntimeError, match="invalid for a nested"):
        torch.nested.nested_tensor([torch.ones(2)]).reshape(())
    return repr(empty)


def _versions(torch: Any, folder: Path) -> Any:
    x, weight = torch.ones(2), torch.ones(2, requires_grad=True)
    product = weight * x
    torch.autograd.graph.increment_version([x, weight.detach()])
    with pytest.raises(RuntimeError, match="modified by an inplace"):
        product.sum().backward()
    (weight * x).sum().backward()
    return x, x._version, weight.grad


def _ranges(torch: Any, folder: Path) -> Any:
    itt = torch.profiler.itt
    itt.range_push("a")
    itt.mark("b")
    itt.range_pop()
    with itt.range("c"):
        return torch.ones(1)


def _hooks_warn(torch: Any, folder: Path) -> Any:
    hooks = torch.utils.hooks
    x = torch.ones(1, requires_grad=True)
    hooks.warn_if_has_hooks(x)
    x.register_hook(hooks.unserializable_hook(lambda grad: None))
    hooks.warn_if_has_hooks(x)
    x.register_hook(lambda grad: None)
    with pytest.warns(UserWarning, match="will not be serialized"):
        hooks.warn_if_has_hooks(x)


def _equal_limits(torch: Any, folder: Path) -> Any:
    with pytest.warns(FutureWarning, match="low==high"):
        x = torch.testing.make_tensor(3, dtype=torch.float32, device="cpu", low=2, high=2)
    with pytest.raises(ValueError, match="less than"):
        torch.testing.make_tensor(3, dtype=torch.int64, device="cpu", low=2, high=2)
    return x


def _ends_of_intervals(torch: Any, folder: Path) -> Any:
    ends = []
    for dtype in (torch.bfloat16, torch.float16, torch.complex64):
        x = torch.testing.make_tensor(50_000, dtype=dtype, device="cpu", low=0, high=2)
        numbers = torch.view_as_real(x) if dtype.is_complex else x
        ends.append(bool((numbers < 2).all() & (numbers >= 0).all()))
    return ends


def _norms_in_out(torch: Any, folder: Path) -> Any:
    x = torch.arange(6.0).reshape(2, 3)
    out = torch.empty(0)
    torch.nuclear_norm(x, keepdim=True, out=out)
    rows = torch.zeros(2, 3)
    torch._compute_linear_combination(x, torch.tensor([[1.0, 2.0], [0.0, 1.0]]), out=rows)
    return np.round(out.numpy(), 4), rows


def _shared_file(torch: Any, folder: Path) -> Any:
    name = str(folder / "numbers.bin")
    x = torch.from_file(name, shared=True, size=4, dtype=torch.int32)
    x.copy_(torch.arange(4, dtype=torch.int32))
    return x, np.fromfile(name, np.int32)


def _arrays_for_reading(torch: Any, folder: Path) -> Any:
    array = np.zeros(2)
    array.flags.writeable = False
    with pytest.warns(UserWarning, match="not writable"):
        return torch.from_numpy(array)


def _private_constraints(torch: Any, folder: Path) -> Any:
    constraints = torch.distributions.constraints
    return (
        isinstance(constraints.nonnegative_integer, constraints._IntegerGreaterThan),
        isinstance(constraints.positive, constraints._GreaterThan),
        isinstance(constraints.simplex, constraints._Simplex),
    )


def _transforms_that_are_none(torch: Any, folder: Path) -> Any:
    base = torch.distributions.Normal(0.0, 1.0)
    with pytest.raises(ValueError, match="transforms must be"):
        torch.distributions.TransformedDistribution(base, lambda x: x)


def _functions_of_layers(torch: Any, folder: Path) -> Any:
    from torch._C import _VariableFunctions as functions

    x = torch.tensor([3.0, -4.0])
    return torch._VF.relu(x), functions.neg(x), getattr(torch._VF, "no_function", None)


def _results_that_are_written(torch: Any, folder: Path) -> Any:
    x, kinds = torch.tensor([[4.0, 1.0], [2.0, 3.0]]), []
    for function in (torch.slogdet, torch.linalg.slogdet, torch.linalg.eigh, torch.sort):
        result = function(x)
        written = function(x, out=tuple(result))
        kinds += [type(result).__name__, type(written).__name__]
        assert all(one is other for one, other in zip(written, result, strict=True))
    return kinds


def _overloads_without_out(torch: Any, folder: Path) -> Any:
    add, x, out = torch.ops.aten.add, torch.tensor(2.0), torch.tensor(0.0)
    with pytest.raises(RuntimeError, match="Unknown keyword argument 'out'"):
        add.Tensor(x, x, out=out)
    add.out(x, x, out=out)
    return out, add.__module__ == add.op.__module__


def _products_with_none(torch: Any, folder: Path) -> Any:
    import importlib

    utils = importlib.import_module("torch._linalg_utils")
    x = torch.tensor([[2.0, 1.0], [1.0, 2.0]])
    column = torch.tensor([[1.0], [-2.0]])
    with pytest.raises(TypeError, match="expected Tensor"):
        utils.is_sparse([1.0])
    values = [
        utils.symeig(x, largest=largest)[0].round(decimals=4).tolist() for largest in (False, True)
    ]
    return (
        (utils.matmul(None, x), utils.matmul(x, x), utils.qform(None, column)),
        (utils.qform(x, column), utils.bform(column, x, x)),
        (str(utils.get_floating_dtype(x.long())), str(utils.get_floating_dtype(x.double()))),
        (utils.is_sparse(x), utils.is_sparse(x.to_sparse())),
        utils.basis(column).abs().mul(5**0.5).round(),
        values,
    )


PROGRAMS = (
    _products_with_none,
    _functions_of_layers,
    _results_that_are_written,
    _overloads_without_out,
    _from_mask,
    _from_padded,
    _empty_nested,
    _versions,
    _ranges,
    _hooks_warn,
    _equal_limits,
    _ends_of_intervals,
    _norms_in_out,
    _shared_file,
    _arrays_for_reading,
    _private_constraints,
    _transforms_that_are_none,
)


def _plain(result: Any) -> Any:
    if isinstance(result, tuple):
        return tuple(map(_plain, result))
    return result.tolist() if hasattr(result, "tolist") else result


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__[1:])
def test_programs_give_what_they_give_on_pytorch(
    program: Callable[[Any, Path], Any], tmp_path: Path
) -> None:
    for folder in ("theirs", "ours"):
        (tmp_path / folder).mkdir()
    with warnings.catch_warnings():
        # PyTorch announces that nested tensors will change and that functions will go.
        warnings.filterwarnings("ignore", "The PyTorch API of nested tensors|at::nuclear_norm")
        expected = _plain(program(torch, tmp_path / "theirs"))
    with oneflow.mock_torch.enable():
        import torch as mocked

        assert _plain(program(mocked, tmp_path / "ours")) == expected
