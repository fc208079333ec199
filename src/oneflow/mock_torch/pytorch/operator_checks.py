"""``torch.library.opcheck``: whether an operator does what its registration says."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from oneflow import autograd
from oneflow.functional.elementwise.comparison import equal
from oneflow.mock_torch.pytorch.operator_definition import CustomOpDef
from oneflow.mock_torch.pytorch.utils._pytree import tree_leaves, tree_map
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.views import share


class OpCheckError(Exception):
    """An operator does something else than its registration says."""


class _CheckedCall:
    """A call of an operator that is checked.

    Attributes:
        operator: the operator.
        args: arguments by position.
        kwargs: arguments by keyword.
    """

    def __init__(self, operator: CustomOpDef, args: Sequence, kwargs: Mapping[str, Any]) -> None:
        self.operator = operator
        self.args = tuple(args)
        self.kwargs = dict(kwargs)

    def mapped(self, change: Callable[[Tensor], Tensor]) -> _CheckedCall:
        """The call with other tensors."""
        args, kwargs = tree_map(
            lambda leaf: change(leaf) if isinstance(leaf, Tensor) else leaf,
            (self.args, self.kwargs),
        )
        return _CheckedCall(self.operator, args, kwargs)

    def copied(self) -> _CheckedCall:
        """The call with tensors of its own, which require grad if those do."""
        return self.mapped(lambda x: x.detach().clone().requires_grad_(x.requires_grad))

    def on_meta(self) -> _CheckedCall:
        """The call with tensors without values."""
        return self.mapped(lambda x: x.detach().to("meta").requires_grad_(x.requires_grad))

    def run(self) -> Any:
        """The result."""
        return self.operator(*self.args, **self.kwargs)

    def tensors(self) -> list[Tensor]:
        """The tensors among the arguments."""
        return list(_tensors((self.args, self.kwargs)))

    def by_parameter(self) -> Iterator[tuple[str, list[Tensor]]]:
        """The tensors of each parameter."""
        signature = self.operator.signature
        if signature is not None:
            for name, value in signature.bind(*self.args, **self.kwargs).arguments.items():
                yield name, list(_tensors(value))

    def gradients(self, result: Any) -> list[Tensor | None] | None:
        """The gradients of the tensors that require grad; None if the result has no history."""
        inputs = [tensor for tensor in self.tensors() if tensor.requires_grad]
        outputs = [tensor for tensor in _tensors(result) if tensor.requires_grad]
        if not inputs or not outputs:
            return None
        weights = [output.detach().new_ones(output.shape) for output in outputs]
        return list(autograd.grad(outputs, inputs, weights, allow_unused=True))


def _tensors(tree: Any) -> Iterator[Tensor]:
    return (leaf for leaf in tree_leaves(tree) if isinstance(leaf, Tensor))


def _form(tree: Any) -> list[Any]:
    """Shapes, dtypes and types that a real result shares with one without values."""
    leaves = tree_leaves(tree)
    return [
        (tuple(leaf.shape), leaf.dtype) if isinstance(leaf, Tensor) else type(leaf).__name__
        for leaf in leaves
    ]


def _check_schema(call: _CheckedCall) -> None:
    """Check that only arguments that the schema marks change, and that results are no views."""
    before, after = call.copied(), call.copied()
    with autograd.no_grad():
        result = after.run()
    name, mutated = call.operator.name, call.operator.mutates
    old = dict(before.by_parameter())
    for parameter, tensors in after.by_parameter():
        is_same = all(equal(x, y) for x, y in zip(old[parameter], tensors, strict=True))
        if not is_same and parameter not in mutated and "unknown" not in mutated:
            raise OpCheckError(
                f"`{name}` changes its argument `{parameter}`, which `mutates_args` does not name"
            )
    memory = [share(tensor).storage for tensor in after.tensors()]
    if any(share(tensor).storage in memory for tensor in _tensors(result)):
        raise OpCheckError(f"`{name}` returns an argument or a view of one; return a clone() of it")


def _check_autograd_registration(call: _CheckedCall) -> None:
    """Check that an operator whose arguments require grad says what its gradient is."""
    if not any(tensor.requires_grad for tensor in call.tensors()):
        return
    operator = call.operator
    if operator.function is None and not operator.autograd_kernels:
        raise OpCheckError(
            f"`{operator.name}` has kernels for devices alone, and no gradient: give it one by "
            "`torch.library.register_autograd`"
        )


def _check_fake(call: _CheckedCall) -> None:
    """Check that shapes and dtypes are found without values."""
    with autograd.no_grad():
        actual, expected = call.on_meta().run(), call.copied().run()
    if _form(actual) != _form(expected):
        raise OpCheckError(
            f"`{call.operator.name}` returns {_form(expected)}, its `register_fake` says"
            f" {_form(actual)}"
        )


def _check_gradient_without_values(call: _CheckedCall) -> None:
    """Check that the backward pass, too, runs without values, and gives gradients of their form."""
    real, fake = call.copied(), call.on_meta()
    expected = real.gradients(real.run())
    actual = fake.gradients(fake.run())
    if _form(actual) != _form(expected):
        raise OpCheckError(
            f"the gradients of `{call.operator.name}` are {_form(expected)}, on tensors without"
            f" values {_form(actual)}"
        )


_CHECKS: dict[str, Callable[[_CheckedCall], None]] = {
    "test_schema": _check_schema,
    "test_autograd_registration": _check_autograd_registration,
    "test_faketensor": _check_fake,
    "test_aot_dispatch_dynamic": _check_gradient_without_values,
}


def opcheck(
    op: CustomOpDef,
    args: Sequence,
    kwargs: Mapping[str, Any] | None = None,
    *,
    test_utils: str | Sequence[str] = tuple(_CHECKS),
    raise_exception: bool = True,
    atol: float | None = None,
    rtol: float | None = None,
) -> dict[str, Any]:
    """Check an operator with some arguments.

    Args:
        op: the operator.
        args: arguments by position.
        kwargs: arguments by keyword.
        test_utils: which checks: ``"test_schema"`` (what it changes and returns),
            ``"test_autograd_registration"``, ``"test_faketensor"`` (`register_fake`) and
            ``"test_aot_dispatch_dynamic"`` (the backward pass on tensors without values).
        raise_exception: raise what is wrong; else it is in the result.
        atol: accepted; no values are compared but those that must not change.
        rtol: likewise.

    Returns:
        For each check ``"SUCCESS"``, or the exception.

    Raises:
        OpCheckError: it does something else than its registration says.
        ValueError: there is no such check.

    Example:
        >>> from oneflow import mock_torch
        >>> with mock_torch.enable():
        ...     import torch
        >>> @torch.library.custom_op("example::halve", mutates_args=())
        ... def halve(x: torch.Tensor) -> torch.Tensor:
        ...     return x / 2
        >>> torch.library.opcheck(halve, (torch.ones(2),), test_utils="test_schema")
        {'test_schema': 'SUCCESS'}
    """
    names = (test_utils,) if isinstance(test_utils, str) else tuple(test_utils)
    if unknown := [name for name in names if name not in _CHECKS]:
        raise ValueError(f"`test_utils` must be of {tuple(_CHECKS)}, got {unknown}")
    call, results = _CheckedCall(op, args, kwargs or {}), {}
    for name in names:
        try:
            _CHECKS[name](call)
            results[name] = "SUCCESS"
        except Exception as error:
            if raise_exception:
                raise
            results[name] = error
    return results
