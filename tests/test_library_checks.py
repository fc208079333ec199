"""`torch.library`: results without values, schemas, autocast and `opcheck`, against PyTorch."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest
import torch

from oneflow import mock_torch

_numbers = itertools.count()


def _mocked() -> Any:
    with mock_torch.enable():
        import torch as mocked
    return mocked


def _both(program: Callable[[Any], Any]) -> tuple[Any, Any]:
    return program(_mocked()), program(torch)


def _name() -> str:
    return f"checked::operator{next(_numbers)}"


def _first_rows(t: Any) -> Any:
    """An operator whose kernel computes outside of the library, and whose fake result is right."""

    def kernel(x, count):
        return t.from_numpy(x.detach().numpy()[:count] * 3)

    operator = t.library.custom_op(
        _name(), kernel, mutates_args=(), schema="(Tensor x, int count) -> Tensor"
    )
    operator.register_fake(lambda x, count: x.new_empty((count, *x.shape[1:])))

    def backward(ctx, grad):
        whole = grad.new_zeros(ctx.shape)
        return t.cat([grad * 3, whole[len(grad) :]]), None

    def setup(ctx, inputs, output):
        ctx.shape = tuple(inputs[0].shape)

    operator.register_autograd(backward, setup_context=setup)
    return operator


def test_a_fake_result_stands_for_the_kernel_without_values():
    def program(t):
        operator = _first_rows(t)
        x = t.ones(4, 2, device="meta", requires_grad=True)
        y = operator(x, 3)
        (grad,) = t.autograd.grad(y.sum(), x)
        return tuple(y.shape), y.device.type, tuple(grad.shape), grad.device.type

    found, expected = _both(program)
    assert found == expected == ((3, 2), "meta", (4, 2), "meta")


def test_the_kernel_of_a_library_for_meta_is_a_fake_result():
    def program(t):
        home = t.library.Library("checked", "FRAGMENT")
        name = _name().partition("::")[2]
        home.define(f"{name}(Tensor x) -> Tensor")
        home.impl(name, lambda x: t.from_numpy(x.numpy() + 1), "CPU")
        home.impl(name, lambda x: x.new_empty((7,)), "Meta")
        operator = getattr(t.ops.checked, name)
        return tuple(operator(t.ones(2, device="meta")).shape), operator(t.ones(2)).tolist()

    found, expected = _both(program)
    assert found == expected


def test_autocast_of_an_operator():
    def program(t):
        seen = []

        def kernel(x, y, n):
            dtypes = x.dtype == t.bfloat16, y.dtype == t.float64
            seen.append((*dtypes, t.is_autocast_enabled("cpu")))
            return x.float() + y.float()

        operator = t.library.custom_op(
            _name(), kernel, mutates_args=(), schema="(Tensor x, Tensor y, int n) -> Tensor"
        )
        operator.register_autocast("cpu", t.bfloat16)
        x, y = t.ones(2), t.ones(2, dtype=t.float64)
        operator(x, y, 1)
        with t.autocast("cpu", dtype=t.bfloat16):
            operator(x, y, 1)
        return seen

    found, expected = _both(program)
    assert found == expected


def _schemas(t: Any) -> list[str]:
    def plain(
        x: t.Tensor, n: int, k: float = 1.5, name: str = "a", *, flag: bool = True
    ) -> int: ...

    def optional(
        x: t.Tensor | None, d: t.dtype | None = None, e: int | float | bool = 3
    ) -> tuple[t.Tensor, list[t.Tensor]]: ...

    def changing(x: t.Tensor, sizes: list[int], xs: list[t.Tensor], d: t.device) -> None: ...

    infer = t.library.infer_schema
    for function in (plain, optional, changing):
        names = {"t": t}
        function.__annotations__ = {
            key: eval(value, names) for key, value in function.__annotations__.items()
        }
    return [
        infer(plain, mutates_args=()),
        infer(optional, mutates_args=(), op_name="optional"),
        infer(changing, mutates_args=("x", "xs")),
        infer(changing, mutates_args="unknown"),
    ]


def test_schemas_are_inferred_as_in_pytorch():
    found, expected = _both(_schemas)
    assert found == expected


@pytest.mark.parametrize("mutates", [(), ("y",)])
def test_mistakes_of_schemas(mutates):
    def program(t):
        def function(x: dict) -> int: ...

        function.__annotations__ = {"x": dict, "return": int}
        with pytest.raises(ValueError, match="infer_schema"):
            t.library.infer_schema(function, mutates_args=mutates)
        return True

    assert _both(program) == (True, True)


def _mistaken(t: Any, mistake: str) -> Any:
    """An operator that does something else than it says."""
    kernels = {
        "changes": lambda x: x.mul_(2) + 1,
        "aliases": lambda x: x.view(-1),
        "shape": lambda x: x * 2,
        "right": lambda x: x * 2,
    }
    operator = t.library.custom_op(
        _name(), kernels[mistake], mutates_args=(), schema="(Tensor x) -> Tensor"
    )
    wrong = mistake == "shape"
    operator.register_fake(lambda x: x.new_empty((5,)) if wrong else t.empty_like(x))
    operator.register_autograd(lambda ctx, grad: grad * 2)
    return operator


@pytest.mark.parametrize(
    ("mistake", "check"),
    [
        ("right", None),
        ("changes", "test_schema"),
        ("aliases", "test_schema"),
        ("shape", "test_faketensor"),
    ],
)
def test_opcheck_finds_what_is_wrong(mistake, check):
    def program(t):
        operator = _mistaken(t, mistake)
        names = ("test_schema", "test_autograd_registration", "test_faketensor")
        results = t.library.opcheck(
            operator, (t.ones(3, requires_grad=True),), test_utils=names, raise_exception=False
        )
        return {name: result == "SUCCESS" for name, result in results.items()}

    found, expected = _both(program)
    assert found[check] is False if check else all(found.values())
    assert all(found.values()) == all(expected.values())
    if check:
        t = _mocked()
        operator = _mistaken(t, mistake)
        with pytest.raises(Exception, match="operator"):
            t.library.opcheck(operator, (t.ones(3),), test_utils=check)


def test_opcheck_runs_backward_without_values():
    def program(t):
        return t.library.opcheck(_first_rows(t), (t.ones(4, 2, requires_grad=True), 3))

    found, expected = _both(program)
    assert found == expected


def test_opcheck_of_a_backward_that_needs_values():
    t = _mocked()
    operator = t.library.custom_op(
        _name(), lambda x: x * 2, mutates_args=(), schema="(Tensor x) -> Tensor"
    )
    operator.register_autograd(lambda ctx, grad: t.from_numpy(grad.numpy() * 2))
    with pytest.raises(Exception, match="meta"):
        t.library.opcheck(operator, (t.ones(3, requires_grad=True),))
