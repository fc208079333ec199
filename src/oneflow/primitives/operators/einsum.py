"""Products and sums over named dimensions, and the cross product."""

from __future__ import annotations

import jax.numpy as jnp

from oneflow.primitives.operation import Operation
from oneflow.primitives.registry import primitive
from oneflow.primitives.sharding.axes import Axes, Names, broadcast_free_dims
from oneflow.primitives.sharding.linearity import linear_in_each
from oneflow.primitives.traits import Precision

Labels = tuple[int, ...]


def _einsum(*operands, inputs: tuple[Labels, ...], output: Labels):
    """The product of `operands`, summed over the labels that are not in `output`.

    The dimensions of the operands carry the labels of `inputs`.

    A label may be repeated in one operand (its diagonal); a size of 1 broadcasts.
    """
    sizes: dict[int, int] = {}
    for operand, labels in zip(operands, inputs, strict=True):
        for label, size in zip(labels, operand.shape, strict=True):
            sizes[label] = size if sizes.get(label, 1) == 1 else sizes[label]
    arguments: list = []
    for operand, labels in zip(operands, inputs, strict=True):
        single = [
            dim for dim, label in enumerate(labels) if operand.shape[dim] == 1 != sizes[label]
        ]
        other_labels = [label for dim, label in enumerate(labels) if dim not in single]
        arguments += [jnp.squeeze(operand, single) if single else operand, other_labels]
    return jnp.einsum(*arguments, list(output))


def _einsum_axes(operation: Operation) -> Axes:
    """Labels are the names; a broadcast size and a diagonal may not be split."""
    inputs, output = operation.attributes["inputs"], operation.attributes["output"]
    repeated = {label for labels in inputs for label in labels if labels.count(label) > 1}
    shapes = [spec.shape for spec in operation.in_specs]
    sizes = dict(pair for pairs in map(zip, inputs, shapes) for pair in pairs if pair[1] != 1)

    def names(labels: Labels, shape: tuple[int, ...]) -> Names:
        return tuple(
            None if size != sizes.get(label, 1) or label in repeated else f"d{label}"
            for label, size in zip(labels, shape, strict=True)
        )

    return Axes(
        tuple(names(labels, s.shape) for labels, s in zip(inputs, operation.in_specs, strict=True)),
        (names(output, operation.out_specs[0].shape),),
    )


einsum = primitive(
    "einsum", _einsum, axes=_einsum_axes, linear=linear_in_each, precision=Precision.HALF
)

# The cross product of the vectors along `dim`, which has size 3.
cross = primitive(
    "cross",
    lambda x, y, *, dim: jnp.cross(x, y, axis=dim),
    axes=broadcast_free_dims("dim"),
    linear=("x", "y"),
)
