"""The kinds of an initializer: parameters, buffers, and constants of the model's arithmetic."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum, auto

import numpy as np

from oneflow_onnx.x2oneflow.prepared_graph import PreparedGraph
from oneflow_onnx.x2oneflow.values import fits_tensor

# Integers, and tensors that nodes give, up to so many elements are no state.
_SHAPE_LIKE = 1024

# Operators of which a single number is a constant of a formula, as in ``x * 0.5``.
_ARITHMETIC = {"Add", "Sub", "Mul", "Div", "Pow", "Max", "Min", "Mod", "Sum", "Mean", "Where"}

# Operators that bring a mask to the values that it hides, and that apply it.
_MASK_OPERATORS = {
    "Add",
    "Sub",
    "Mul",
    "Where",
    "Attention",
    "Reshape",
    "Transpose",
    "Cast",
    "CastLike",
}

# A number as low as this, added before an exponential function, leaves nothing.
_HIDDEN = -1000.0

# Operators that cut an initial state of zeros into the states of layers and directions.
_LAYOUT = {"Slice", "Split", "Squeeze", "Unsqueeze", "Expand", "Identity"}


class InitializerKind(Enum):
    """The use that an initializer is put to."""

    PARAMETER = auto()
    BUFFER = auto()
    CONSTANT = auto()


def classify(prepared: PreparedGraph) -> dict[str, InitializerKind]:
    """Return the kind of every initializer and constant of the model's graph.

    Floating-point tensors that an operator computes with are parameters; statistics of batch
    normalisation, masks and large tables of integers are buffers; single numbers in arithmetic,
    shapes, indices, limits and sizes are constants. A model that says which of its initializers
    are buffers is believed. Tensors that nodes give are not trained, unless the model keeps all of
    its weights in nodes.
    """
    uses: dict[str, list[tuple[str, int, bool]]] = {name: [] for name in prepared.constants}
    for name, use in _uses(prepared):
        if name in uses:
            uses[name].append(use)
    kinds = {name: _kind(array, uses[name]) for name, array in prepared.constants.items()}
    weights = {name for name, kind in kinds.items() if kind is InitializerKind.PARAMETER}
    fixed = prepared.literals if weights - prepared.literals else set()
    if prepared.buffers is not None:
        fixed = prepared.literals | prepared.buffers
        fixed_initial = {
            name for name, array in prepared.constants.items() if _can_train(array, uses[name])
        }
        weights |= fixed_initial - fixed
    small = {name for name in prepared.literals if prepared.constants[name].size <= _SHAPE_LIKE}
    buffers = {
        n: InitializerKind.CONSTANT if n in small else InitializerKind.BUFFER
        for n in weights & fixed
    }
    return kinds | dict.fromkeys(weights, InitializerKind.PARAMETER) | buffers


def _uses(prepared: PreparedGraph) -> Iterator[tuple[str, tuple[str, int, bool]]]:
    """Every use of a value: its name, the operator, the position, and whether it is trained."""
    for inner, call in prepared.walk():
        name_of_use = call.node.op_type
        if name_of_use == "Gather" and call.node.input[1] in inner.constants:
            name_of_use = "Slice"  # Its entries are fixed, so it reads no table.
        for position, name in enumerate(call.node.input):
            is_constant = call.operator is not None and (
                position in call.operator.constant or position in call.operator.host
            )
            yield name, (name_of_use, position, not is_constant)


def _kind(array: np.ndarray, uses: list[tuple[str, int, bool]]) -> InitializerKind:
    if not fits_tensor(array):
        return InitializerKind.CONSTANT
    if array.dtype.kind in "iub":
        return InitializerKind.BUFFER if array.size > _SHAPE_LIKE else InitializerKind.CONSTANT
    if any(name == "BatchNormalization" and not trained for name, _, trained in uses):
        return InitializerKind.BUFFER
    trained = [name for name, _, trained in uses if trained]
    if not trained or array.ndim == 0 or array.dtype.kind == "c":
        return InitializerKind.CONSTANT
    if array.size == 1 and set(trained) <= _ARITHMETIC:
        return InitializerKind.CONSTANT
    if set(trained) <= _LAYOUT and not array.any():
        return InitializerKind.CONSTANT
    if set(trained) <= _MASK_OPERATORS | _LAYOUT and _is_mask(array):
        return InitializerKind.BUFFER
    return InitializerKind.PARAMETER


def _can_train(array: np.ndarray, uses: list[tuple[str, int, bool]]) -> bool:
    trained = any(is_trainable for _, _, is_trainable in uses)
    return trained and fits_tensor(array) and array.dtype.kind not in "iubc"


def _is_mask(array: np.ndarray) -> bool:
    """Return True for elements of two kinds: 0 and 1 to multiply by, or 0 and very low to add."""
    low, high = array.min(initial=0), array.max(initial=0)
    is_factor, is_term = low == 0 and high == 1, low <= _HIDDEN and high == 0
    at_low, at_high = array == low, array == high
    both = at_low.any() and at_high.any() and (at_low | at_high).all()
    return bool(both and (is_factor or is_term))
