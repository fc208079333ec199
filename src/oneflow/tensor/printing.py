"""Tensors as text, as PyTorch prints them; but in its place the dtype is always shown."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from oneflow.base import dtype as dt
from oneflow.base.device import META_TYPE
from oneflow.base.dtype import DType, complex_dtype, get_default_dtype
from oneflow.base.program_name import PYTORCH, program_name
from oneflow.differentiation.node_names import short_name
from oneflow.program.value import ValueOfClass
from oneflow.tensor.methods import attach
from oneflow.tensor.reads import ignore_reads
from oneflow.tensor.subclasses import has_dispatch, has_override
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.views import unwrap


@dataclasses.dataclass
class PrintOptions:
    """Options of printing tensors, see `set_printoptions`."""

    precision: int = 4
    threshold: float = 1000
    edgeitems: int = 3
    linewidth: int = 80
    sci_mode: bool | None = None


OPTIONS = PrintOptions()
_BY_PROFILE = {
    "default": PrintOptions(),
    "short": PrintOptions(precision=2, edgeitems=2),
    "full": PrintOptions(threshold=math.inf),
}


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Choose how tensors are printed; options left out keep their value, except `sci_mode`.

    Args:
        precision: digits after the point.
        threshold: tensors with more elements are summarised.
        edgeitems: how many elements a summary shows at each end of a dimension.
        linewidth: characters per line.
        profile: ``"default"``, ``"short"`` or ``"full"`` to start from; any other name is ignored,
            as in PyTorch.
        sci_mode: scientific notation: always, never, or (None) when the numbers need it.

    Example:
        >>> import oneflow as flow
        >>> flow.set_printoptions(precision=2)
        >>> flow.tensor([1.12345])
        tensor([1.12], dtype=oneflow.float32)
        >>> flow.set_printoptions(profile="default")
    """
    start = _BY_PROFILE.get(profile or "")
    if start is not None:
        OPTIONS.precision, OPTIONS.threshold = start.precision, start.threshold
        OPTIONS.edgeitems, OPTIONS.linewidth = start.edgeitems, start.linewidth
    options = {
        "precision": precision,
        "threshold": threshold,
        "edgeitems": edgeitems,
        "linewidth": linewidth,
    }
    for name, value in options.items():
        if value is not None:
            setattr(OPTIONS, name, value)
    OPTIONS.sci_mode = sci_mode


def get_printoptions() -> dict[str, Any]:
    """The options in force, as keyword arguments for `set_printoptions`.

    Example:
        >>> import oneflow as flow
        >>> flow.get_printoptions()["edgeitems"]
        3
    """
    return dataclasses.asdict(OPTIONS)


class _NumberFormat:
    """One width and notation for all numbers of a tensor."""

    def __init__(self, array: np.ndarray) -> None:
        self.is_float = array.dtype.kind == "f"
        self._all_whole, self._scientific, self.width = True, False, 1
        flat = array.reshape(-1)
        if not self.is_float:
            self.width = max([1, *(len(str(value)) for value in flat.tolist())])
            return
        numbers = flat[np.isfinite(flat) & (flat != 0)]
        if not numbers.size:
            return
        abs_values = np.abs(numbers)
        low, high = float(abs_values.min()), float(abs_values.max())
        self._all_whole = bool((numbers == np.ceil(numbers)).all())
        needs = high / low > 1000.0 or high > 1.0e8 or low < 1.0e-4
        self._scientific = needs if OPTIONS.sci_mode is None else OPTIONS.sci_mode
        self.width = max(len(self._text(value)) for value in numbers.tolist())

    def _text(self, value: float) -> str:
        if self._scientific:
            return f"{value:.{OPTIONS.precision}e}"
        if not self._all_whole:
            return f"{value:.{OPTIONS.precision}f}"
        return f"{value:.0f}." if math.isfinite(value) else f"{value:.0f}"

    def __call__(self, value: Any) -> str:
        text = self._text(value) if self.is_float else str(value)
        return text.rjust(self.width)


class _ComplexFormat:
    """Real and imaginary parts, each with a format of its own."""

    def __init__(self, array: Any) -> None:
        self._real, self._imaginary = _NumberFormat(array.real), _NumberFormat(array.imag)
        self.width = self._real.width + self._imaginary.width + 1

    def __call__(self, value: complex) -> str:
        imag = f"{self._imaginary(value.imag)}j".lstrip()
        sign = "" if imag[0] in "+-" else "+"
        return self._real(value.real) + sign + imag


def _visible(array: np.ndarray) -> np.ndarray:
    """The elements that a summary shows."""
    edge = OPTIONS.edgeitems
    for axis, size in enumerate(array.shape):
        if size > 2 * edge:
            array = np.take(array, [*range(edge), *range(size - edge, size)], axis)
    return array


def _nested(array: np.ndarray, indent: int, summarize: bool, number: Any) -> str:
    """An array as nested brackets; `indent` is where its first bracket stands."""
    if array.ndim == 0:
        return number(array.item())
    edge = OPTIONS.edgeitems
    truncated = summarize and len(array) > 2 * edge
    first, last = (array[:edge], array[len(array) - edge :]) if truncated else (array, array[:0])
    if array.ndim == 1:
        items = [number(value) for value in first.tolist()]
        if truncated:
            items += [" ..." if edge else "...", *(number(value) for value in last.tolist())]
        per_line = max(1, (OPTIONS.linewidth - indent) // (number.width + 2))
        lines = [
            ", ".join(items[start : start + per_line]) for start in range(0, len(items), per_line)
        ]
        return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"
    parts = [_nested(item, indent + 1, summarize, number) for item in first]
    if truncated:
        parts += ["...", *(_nested(item, indent + 1, summarize, number) for item in last)]
    return "[" + ("," + "\n" * (array.ndim - 1) + " " * (indent + 1)).join(parts) + "]"


def _contents(array: np.ndarray, indent: int) -> str:
    if array.size == 0:
        return "[]"
    if array.dtype.kind not in "biufc" or array.dtype == np.float16:
        array = array.astype(np.float32)
    summarize = array.size > OPTIONS.threshold
    visible = _visible(array) if summarize else array
    number = _ComplexFormat(visible) if array.dtype.kind == "c" else _NumberFormat(visible)
    return _nested(array, indent, summarize, number)


def _has_values(tensor: Tensor) -> bool:
    """Return whether a tensor has values that can be read."""
    value = unwrap(tensor)
    is_wrapper = isinstance(value, ValueOfClass)
    return not (is_wrapper or value.is_symbolic or tensor.device.type == META_TYPE)


def _has_default_dtype(dtype: DType, without_numbers: bool) -> bool:
    """Return whether PyTorch shows a dtype by the numbers alone."""
    default = get_default_dtype()
    if without_numbers:
        return dtype is default
    return dtype in (default, dt.int64, dt.bool_, complex_dtype(default))


def _suffixes(tensor: Tensor, is_hidden: bool) -> list[str]:
    suffixes = []
    spec = tensor._value.spec
    if spec.sbp is not None:
        suffixes += [f"placement={spec.device!r}", f"sbp={spec.sbp!r}"]
    elif tensor.device.type != "cpu":
        suffixes.append(f"device='{tensor.device}'")
    if is_hidden or (tensor.numel() == 0 and tensor.ndim != 1):
        suffixes.append(f"size={tuple(tensor.shape)}")
    if program_name() != PYTORCH or not _has_default_dtype(
        tensor.dtype, is_hidden or not tensor.numel()
    ):
        suffixes.append(f"dtype={tensor.dtype!r}")
    if tensor.grad_fn is not None:
        suffixes.append(f"grad_fn=<{short_name(tensor.grad_fn.name())}>")
    elif tensor.requires_grad:
        suffixes.append("requires_grad=True")
    return suffixes


def format_values(self: Tensor, indent: int = 0) -> str:
    """The values in brackets, without a name and options; `indent` is where they begin.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.tensor.printing import format_values
        >>> print(format_values(flow.eye(2)))
        [[1., 0.],
         [0., 1.]]
    """
    with ignore_reads():
        return _contents(self.numpy(), indent)


def format_tensor(self: Tensor, *, tensor_contents: str | None = None) -> str:
    """The tensor as text; long ones are summarised. Reads the values, if there are any.

    Args:
        self: the tensor.
        tensor_contents: what stands in the place of the values.
    """
    is_of_users = has_dispatch(type(self)) or has_override(type(self))
    prefix = f"{type(self).__name__}(" if is_of_users else "tensor("
    is_hidden = tensor_contents is None and not _has_values(self)
    suffixes = _suffixes(self, is_hidden)
    if is_hidden:
        text = ", ".join([f"{prefix}...", *suffixes]) + ")"
    else:
        contents = tensor_contents or format_values(self, len(prefix))
        text = add_suffixes(prefix + contents, suffixes, len(prefix))
    return f"Parameter({text})" if hasattr(self, "_is_param") else text


def add_suffixes(
    tensor_str: str, suffixes: Sequence[str], indent: int, force_newline: bool = False
) -> str:
    """Return the text of a tensor with what follows its values, and the bracket at the end.

    Args:
        tensor_str: the beginning.
        suffixes: what follows; what has no place in the line begins a new one.
        indent: where lines begin.
        force_newline: the first one begins a line.
    """
    text = tensor_str
    # The length as PyTorch counts it: one more than the characters of the last line and the
    # bracket.
    last_line = len(text) - text.rfind("\n") + 1
    for suffix in suffixes:
        if force_newline or last_line + len(suffix) + 2 > OPTIONS.linewidth:
            text += ",\n" + " " * indent + suffix
            last_line, force_newline = indent + len(suffix), False
        else:
            text += ", " + suffix
            last_line += len(suffix) + 2
    return text + ")"


def format_with_spec(self: Tensor, format_spec: str) -> str:
    """A 0-dim tensor formats as its number."""
    if self.ndim:
        return object.__format__(self, format_spec)
    return format(self.item(), format_spec)


attach("__repr__", format_tensor)
attach("__format__", format_with_spec)
