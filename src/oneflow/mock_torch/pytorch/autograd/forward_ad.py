"""``torch.autograd.forward_ad``: results of tensors with tangents have tangents.

Nothing is computed beside an operator: `unpack_dual` finds the tangent by backward passes, as
`oneflow.func.jvp` does.
"""

from __future__ import annotations

from typing import Any, NamedTuple
from weakref import ref

from oneflow.differentiation.grad_mode import is_inference_mode_enabled
from oneflow.nn.utils.transforms import TangentMap, Variables
from oneflow.tensor.tensor import Tensor


class UnpackedDualTensor(NamedTuple):
    """A tensor and its tangent."""

    primal: Tensor
    tangent: Tensor | None


class _Level:
    """The tensors with tangents of one context."""

    def __init__(self) -> None:
        self._variables = Variables((), (), "forward_ad", hooks=False)
        self._tangents: list[Tensor] = []
        self._duals: dict[int, tuple[ref[Tensor], int, Tensor]] = {}
        self._recording = self._variables.transforming()
        self._recording.__enter__()

    def close(self) -> None:
        """End the context: tensors have no tangents any more."""
        self._variables.finished(())
        self._recording.__exit__(None, None, None)

    def dual(self, tensor: Tensor, tangent: Tensor) -> Tensor:
        """A tensor with a tangent."""
        variable = self._variables.variable(tensor)
        self._variables.tensors.append(variable)
        self._tangents.append(tangent)
        dual = variable.clone()  # which may be written to, as what a leaf is not
        self._duals[id(dual)] = ref(dual), dual._version, tangent
        return dual

    def unpacked(self, tensor: Tensor) -> UnpackedDualTensor:
        """A tensor without its tangent, and that."""
        variables = self._variables
        dual, version, tangent = self._duals.get(id(tensor), (None, 0, None))
        if dual is not None and dual() is tensor and tensor._version == version:
            (primal,) = variables.finished((tensor,))
            variables.enable()
            return UnpackedDualTensor(primal, tangent)
        tangent = None
        if variables.is_dependent(tensor):
            tangent = TangentMap(variables, tensor)(self._tangents)
        primal, tangent = variables.finished((tensor, () if tangent is None else tangent))
        variables.enable()
        return UnpackedDualTensor(primal, tangent if isinstance(tangent, Tensor) else None)


_levels: list[_Level] = []


def __getattr__(name: str) -> Any:
    if name == "_current_level":
        return len(_levels) - 1
    raise AttributeError(f"module `{__name__}` has no attribute `{name}`")


def enter_dual_level() -> int:
    """Enter the level in which tensors can have tangents, until `exit_dual_level`; returns 0.

    Raises:
        RuntimeError: there is a level already.
    """
    if _levels:
        raise RuntimeError(
            "Nested forward mode AD is not supported at the moment: leave the other level first;"
            " `torch.func.jvp` can be nested"
        )
    _levels.append(_Level())
    return 0


def exit_dual_level(*, level: int | None = None) -> None:
    """End the level that `enter_dual_level` began.

    Raises:
        RuntimeError: there is none, or another one.
    """
    _check_level(level, "exit a forward AD level")
    _levels.pop().close()


def _check_level(level: int | None, action: str) -> None:
    if not _levels:
        raise RuntimeError(
            f"Trying to {action} but no level exists, make sure to enter_dual_level() first"
        )
    if level not in (None, 0):
        raise RuntimeError(f"Trying to {action} with level {level}; the only one is 0")


class dual_level:
    """A context in which tensors may have tangents.

    Example:
        >>> from oneflow import mock_torch
        >>> with mock_torch.enable():
        ...     import torch
        ...     import torch.autograd.forward_ad as forward_ad
        >>> with forward_ad.dual_level():
        ...     x = forward_ad.make_dual(torch.tensor(3.0), torch.tensor(1.0))
        ...     primal, tangent = forward_ad.unpack_dual(x * x)
        >>> primal.item(), tangent.item()
        (9.0, 6.0)
    """

    def __enter__(self) -> int:
        return enter_dual_level()

    def __exit__(self, *exception: object) -> None:
        exit_dual_level()


def make_dual(tensor: Tensor, tangent: Tensor, *, level: int | None = None) -> Tensor:
    """Return the tensor with a tangent: the direction in which it changes.

    Args:
        tensor: real or complex numbers.
        tangent: a tensor of the same shape and dtype.
        level: None or 0.

    Raises:
        ValueError: one holds integers.
        RuntimeError: outside of `dual_level`, in inference mode, or the tangent is of another
            shape or dtype.
    """
    _check_level(level, "create a dual Tensor for forward AD")
    if is_inference_mode_enabled():
        raise RuntimeError(
            "make_dual: in inference mode nothing is recorded that tangents could be computed from;"
            " use `torch.no_grad()` in its place"
        )
    for name, operand in (("tensor", tensor), ("tangent", tangent)):
        if not (operand.is_floating_point() or operand.is_complex()):
            raise ValueError(
                f"Expected {name} to be floating point or complex, got: {operand.dtype}"
            )
    if (tensor.shape, tensor.dtype) != (tangent.shape, tangent.dtype):
        raise RuntimeError(
            "Trying to set a forward gradient that has a different size or dtype than the tensor:"
            f" {tuple(tensor.shape)}, {tensor.dtype} and {tuple(tangent.shape)}, {tangent.dtype}"
        )
    return _levels[-1].dual(tensor, tangent)


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """Return a tensor, and its tangent, which is None if it depends on none.

    Args:
        tensor: what was computed from tensors with tangents.
        level: None or 0.
    """
    if not _levels or (level or 0) < 0:
        return UnpackedDualTensor(tensor, None)
    return _levels[-1].unpacked(tensor)


__all__ = [
    "UnpackedDualTensor",
    "dual_level",
    "enter_dual_level",
    "exit_dual_level",
    "make_dual",
    "unpack_dual",
]
