"""Products and sums over named or numbered dimensions."""

from __future__ import annotations

import string
from collections.abc import Sequence
from typing import Any

from oneflow.base.dtype import Category, int64
from oneflow.base.shape import wrap_dim
from oneflow.functional.linalg.matmul import require_one_dtype
from oneflow.functional.registry import function
from oneflow.primitives.operators.einsum import einsum as primitive
from oneflow.tensor.call import call
from oneflow.tensor.operands import cast_to
from oneflow.tensor.tensor import Tensor

# A term of an equation: a letter or a number per dimension; Ellipsis stands for any number of them.
Term = list[Any]
_MISSING_OPERANDS = (
    "einsum(): must specify the equation string and at least one operand, or at least one operand "
    "and its subscripts list"
)


@function(method=False)
def einsum(*args: Any) -> Tensor:
    """Products of tensors, summed over the dimensions that the result does not name.

    Args:
        args: the equation, such as ``"ij,jk->ik"``, and one tensor per term; or each tensor
            followed by the list of the numbers of its dimensions, and last the list of the
            result's. ``...`` stands for leading dimensions that broadcast. A letter repeated in a
            term takes the diagonal. Without ``->`` the result has the letters that occur once, in
            their order.

    Returns:
        Tensor of the operands' dtype.

    Raises:
        RuntimeError: the equation does not fit the operands, or their dtypes differ.
        ValueError: there are no operands.

    Example:
        >>> import oneflow as flow
        >>> flow.einsum("ij,j->i", flow.ones(2, 3), flow.ones(3))
        tensor([3., 3.], dtype=oneflow.float32)
    """
    operands, inputs, output = operands_and_labels(args)
    dtype = operands[0]._value.spec.dtype
    if len(operands) == 1 and dtype.category < Category.FLOAT and not set(inputs[0]) <= set(output):
        # A sum of integers, as `sum` does it.
        operands = [cast_to(operands[0], int64)]
    return call(primitive, *operands, inputs=inputs, output=output)


def operands_and_labels(
    args: tuple,
) -> tuple[list[Tensor], tuple[tuple[int, ...], ...], tuple[int, ...]]:
    """Return the operands of a call, and every dimension's label: of each and of the result.

    Raises:
        RuntimeError: the equation does not fit the operands, or their dtypes differ.
        ValueError: there are no operands.
    """
    if not args:
        raise ValueError(_MISSING_OPERANDS)
    terms, result, operands = _from_lists(args) if isinstance(args[0], Tensor) else _parsed(args)
    if len(terms) != len(operands):
        which = "fewer" if len(operands) < len(terms) else "more"
        raise RuntimeError(
            f"einsum(): {which} operands were provided than specified in the equation: "
            f"{len(operands)}, not {len(terms)}"
        )
    for other in operands[1:]:
        require_one_dtype("einsum", operands[0], other)
    return operands, *_labels(terms, result, [tuple(operand.shape) for operand in operands])


def _parsed(args: tuple) -> tuple[list[Term], Term | None, list[Tensor]]:
    """The terms, the result's term if given, and the operands of a call with an equation."""
    equation, *operands = args
    if len(operands) == 1 and isinstance(operands[0], list | tuple):
        operands = list(operands[0])
    if not isinstance(equation, str) or not operands:
        raise ValueError(_MISSING_OPERANDS)
    left, separator, right = equation.partition("->")
    terms, start = [], 0
    for index, text in enumerate(left.split(",")):
        terms.append(_parsed_term(text, start, f"operand {index}"))
        start += len(text) + 1
    result = _parsed_term(right, len(left) + 2, "output") if separator else None
    return terms, result, operands


def _parsed_term(text: str, start: int, owner: str) -> Term:
    """The letters and the ellipsis of a term, between which spaces may stand.

    Args:
        text: the term.
        start: where in the equation it is.
        owner: what error messages call that which has the term.
    """
    term: Term = []
    at = 0
    while at < len(text):
        subscript, place = text[at], start + at
        if subscript in string.ascii_letters:
            term.append(subscript)
        elif subscript == "." and Ellipsis in term:
            earlier = "but an ellipsis (...)" if owner == "output" else "for which an ellipsis"
            raise RuntimeError(f"einsum(): found '.' for {owner} {earlier} was already found")
        elif text.startswith("...", at):
            term.append(Ellipsis)
            at += 2
        elif subscript == ".":
            raise RuntimeError(
                f"einsum(): found '.' for {owner} that is not part of any ellipsis (...)"
            )
        elif subscript != " ":
            raise RuntimeError(
                f"einsum(): invalid subscript given at index {place} in the equation string, "
                f"subscripts must be in [a-zA-Z], got {subscript!r}"
            )
        at += 1
    return term


def _from_lists(args: tuple) -> tuple[list[Term], Term | None, list[Tensor]]:
    """The same of a call with lists of numbers."""
    if len(args) < 2:
        raise ValueError(_MISSING_OPERANDS)
    result = list(args[-1]) if len(args) % 2 else None
    pairs = args[: len(args) - len(args) % 2]
    return [list(labels) for labels in pairs[1::2]], result, list(pairs[::2])


def _labels(
    terms: list[Term], result: Term | None, shapes: list[tuple[int, ...]]
) -> tuple[tuple[tuple[int, ...], ...], tuple[int, ...]]:
    """Every dimension's label, small integers: of each operand and of the result."""
    hidden = [
        len(shape) - len(term) + 1 if Ellipsis in term else 0
        for term, shape in zip(terms, shapes, strict=True)
    ]
    most = max(hidden)
    numbers: dict[Any, int] = {(index,): index for index in range(most)}
    sizes: dict[int, int] = {}
    inputs = []
    for index, (term, shape) in enumerate(zip(terms, shapes, strict=True)):
        _require_rank(index, term, shape, hidden[index])
        names = _expand_ellipsis(term, most - hidden[index], most)
        labels = tuple(numbers.setdefault(name, len(numbers)) for name in names)
        _require_sizes(index, names, labels, shape, sizes)
        inputs.append(labels)
    if result is None:
        once = [n for n in numbers if sum(term.count(n) for term in terms) == 1]
        result = [Ellipsis, *sorted(once)]
    names = _expand_ellipsis(result, 0, most)
    for name in names:
        if name not in numbers:
            raise RuntimeError(
                f"einsum(): output subscript {name} does not appear in the equation for any input "
                "operand"
            )
        if names.count(name) > 1:
            raise RuntimeError(
                f"einsum(): output subscript {name} appears more than once in the output"
            )
    return tuple(inputs), tuple(numbers[name] for name in names)


def _expand_ellipsis(term: Term, first: int, most: int) -> Term:
    """`term` with the names of the dimensions that its ellipsis stands for."""
    if Ellipsis not in term:
        return term
    at = term.index(Ellipsis)
    return [*term[:at], *[(index,) for index in range(first, most)], *term[at + 1 :]]


def _require_rank(index: int, term: Term, shape: tuple[int, ...], hidden: int) -> None:
    named = len(term) - (Ellipsis in term)
    if hidden < 0 or (Ellipsis not in term and named != len(shape)):
        relation = "is more than" if Ellipsis in term else "does not match"
        raise RuntimeError(
            f"einsum(): the number of subscripts in the equation ({named}) {relation} the "
            f"number of dimensions ({len(shape)}) for operand {index}"
            f"{'' if Ellipsis in term else ' and no ellipsis was given'}"
        )


def _require_sizes(
    index: int, names: Term, labels: Sequence[int], shape: tuple[int, ...], sizes: dict[int, int]
) -> None:
    """Refuse sizes that differ for one label, and note the new ones in `sizes`."""
    operand_sizes: dict[int, int] = {}
    for name, label, size in zip(names, labels, shape, strict=True):
        if operand_sizes.setdefault(label, size) != size:
            raise RuntimeError(
                f"einsum(): subscript {name} is repeated for operand {index} but the sizes don't "
                f"match, {size} != {operand_sizes[label]}"
            )
        seen = sizes.get(label, 1)
        if 1 != size != seen != 1:
            raise RuntimeError(
                f"einsum(): subscript {name} has size {size} for operand {index} which does not "
                f"broadcast with previously seen size {seen}"
            )
        sizes[label] = size if seen == 1 else seen


@function(method=False)
def tensordot(a: Tensor, b: Tensor, dims: Any = 2) -> Tensor:
    """Products of two tensors, summed over pairs of dimensions.

    Args:
        a: tensor.
        b: tensor of the same dtype.
        dims: how many of `a`'s last dimensions to sum over with `b`'s first; or two lists, of the
            dimensions of `a` and of those of `b`.

    Returns:
        Tensor of the other dimensions, `a`'s before `b`'s.

    Raises:
        RuntimeError: `dims` does not fit the tensors, or their dtypes differ.

    Example:
        >>> import oneflow as flow
        >>> flow.tensordot(flow.ones(2, 3), flow.ones(3, 2), dims=1).tolist()
        [[3.0, 3.0], [3.0, 3.0]]
    """
    require_one_dtype("tensordot", a, b)
    left, right = a._value.spec.shape, b._value.spec.shape
    first, second = _paired(dims, len(left), len(right))
    for contracting_dims in (first, second):
        if len(set(contracting_dims)) < len(contracting_dims):
            raise RuntimeError(f"tensordot(): a dimension appears twice in {contracting_dims}")
    for x, y in zip(first, second, strict=True):
        if left[x] != right[y] and 1 not in (left[x], right[y]):
            raise RuntimeError(
                f"contracted dimensions need to match, but first has size {left[x]} in dim {x} and "
                f"second has size {right[y]} in dim {y}"
            )
    right_labels = list(range(len(left), len(left) + len(right)))
    for x, y in zip(first, second, strict=True):
        right_labels[y] = x
    left_labels = tuple(range(len(left)))
    output = (
        *[label for label in left_labels if label not in first],
        *[label for dim, label in enumerate(right_labels) if dim not in second],
    )
    return call(primitive, a, b, inputs=(left_labels, tuple(right_labels)), output=output)


def _paired(dims: Any, left: int, right: int) -> tuple[list[int], list[int]]:
    """The dimensions of both tensors that `tensordot` sums over."""
    if isinstance(dims, Tensor):
        dims = dims.item() if dims.numel() == 1 else dims.tolist()
    if isinstance(dims, int):
        if dims < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
        if dims > min(left, right):
            raise RuntimeError(f"tensordot expects dims <= ndim_a and ndim_b, but got dims={dims}")
        return list(range(left - dims, left)), list(range(dims))
    first, second = dims
    if isinstance(first, int) or isinstance(second, int):
        raise TypeError(
            "tensordot(): argument 'dims' must be an int or two lists of ints, not a list of ints"
        )
    if len(first) != len(second):
        raise RuntimeError(
            f"both dimension lists should have same length, got {len(first)} and {len(second)}"
        )
    return [wrap_dim(dim, left) for dim in first], [wrap_dim(dim, right) for dim in second]
