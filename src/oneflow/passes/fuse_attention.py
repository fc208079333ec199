"""Attention that is written out becomes the primitive `attention` where a fused kernel computes it.

The matrix of weights does not exist then. Programs for CPUs, which have no such kernel, stay as
they are, and so does what the kernels of GPUs and TPUs do not know: dropout, single precision on
GPUs, masks on TPUs that are added or of single heads. Values that are not finite stay so: see
`attention_written`. Two masks become one. If one is applied by `where` and another is added, this
holds without gradients only, or if the first one is causal: for a query without a key, `where`
stops gradients, and a sum does not.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from oneflow.base.dtype import float64, int64
from oneflow.passes.attention_pattern import AttentionFinder, Mask, Scores, WrittenAttention
from oneflow.passes.constant_values import ConstantValues
from oneflow.passes.dead_code import eliminate_dead_code
from oneflow.passes.einsum_products import products_of, with_products
from oneflow.passes.program_builder import ProgramBuilder, operation_of
from oneflow.primitives.operators.attention import attention, attention_backward, is_fused
from oneflow.primitives.operators.attention_kernels import LOWEST
from oneflow.primitives.operators.creation import zeros
from oneflow.primitives.operators.elementwise import (
    add,
    cast,
    drop_if,
    logical_and,
    logical_not,
    where,
)
from oneflow.primitives.operators.shape import reshape, transpose
from oneflow.primitives.operators.softmax import softmax
from oneflow.program.ir import Program

DEVICE_TYPES = frozenset({"cuda", "tpu"})


def may_fuse_attention(program: Program) -> bool:
    """Return whether a program has a softmax on a device where attention has kernels."""
    return any(
        instruction.operation.primitive is softmax
        and instruction.operation.device.type in DEVICE_TYPES
        for instruction in program.instructions
    )


def fuse_attention(program: Program, numbers: Mapping[int, Any]) -> Program:
    """Return the program with the primitive in place of attention that is written out.

    Args:
        program: a program with its gradients.
        numbers: its run-time numbers that are the same in every run.
    """
    products = products_of(program)
    while True:
        rewritten, sources = with_products(program, products)
        fused, calls = _fused(rewritten, ConstantValues(rewritten, numbers))
        if not calls:
            return program
        starts = {start for call in calls for start in call.attention.instructions}
        used = {source for result, source in sources.items() if result in starts}
        if used == products.keys():
            return eliminate_dead_code(fused)
        # An `einsum` that is no part of attention stays as it is.
        products = {start: products[start] for start in used}


def _fused(program: Program, constants: ConstantValues) -> tuple[Program, list[_AttentionCall]]:
    """A program with the primitive wherever there is a kernel, and its calls."""
    places = (_call(place, constants) for place in AttentionFinder(program, constants))
    calls = [call for call in places if call is not None]
    while calls:
        try:
            return _AttentionBuilder(program, calls).run(), calls
        except _NoKernelError as error:
            calls.remove(error.call)
    return program, calls


@dataclass(frozen=True, eq=False)
class _AttentionCall:
    """A call of the primitive.

    Attributes:
        attention: the place.
        attributes: the attributes of the primitive.
        masks: what hides scores besides; they become one mask.
    """

    attention: WrittenAttention
    attributes: dict[str, Any]
    masks: tuple[Mask, ...]


class _NoKernelError(Exception):
    """No kernel computes the written formula, or devices would share its results in another way."""

    def __init__(self, call: _AttentionCall) -> None:
        super().__init__()
        self.call = call


def _call(attention: WrittenAttention, constants: ConstantValues) -> _AttentionCall | None:
    """The call for a place; None: its masks cannot be one."""
    masks = attention.scores.masks
    # If there is another mask, a key that is hidden for good has no weight even where nothing else
    # is seen.
    least = LOWEST if len(masks) == 1 else -math.inf
    hidden = [mask for mask in masks if not mask.is_added and mask.fill <= least]
    causal = next((mask for mask in hidden if _is_causal(attention.scores, mask, constants)), None)
    masks = tuple(mask for mask in masks if mask is not causal)
    fill_values = {mask.fill for mask in masks if not mask.is_added}
    is_added = any(mask.is_added for mask in masks)
    if len(attention.scores.masks) > 1 and not _are_one(fill_values, causal is not None, is_added):
        return None
    # A query without a key gets gradients through a sum, and none through a choice.
    if is_added and fill_values and attention.gradients is not None:
        return None
    attributes = {
        "scale": attention.scores.scale,
        "causal": causal is not None,
        "dropout": attention.mixture.drop is not None,
        "mask_gradient": False,
        "grouped": False,
        "written": True,
        "fill": -math.inf if is_added or not fill_values else fill_values.pop(),
    }
    return _AttentionCall(attention, attributes, masks)


def _are_one(fill_values: set[float], causal: bool, is_added: bool) -> bool:
    """Return whether several masks can be merged; boolean masks write `fill_values`."""
    if causal:
        return fill_values <= {-math.inf}
    return len(fill_values) < 2 and not (is_added and any(fill > LOWEST for fill in fill_values))


def _is_causal(scores: Scores, mask: Mask, constants: ConstantValues) -> bool:
    """Return whether a query sees the keys up to its own position, whatever runs."""
    rows, keys = scores.product.operation.out_specs[0].shape[-2:]
    values = constants.array(mask.number) if rows == keys else None
    if values is None or values.shape[-2:] != (rows, keys):
        return False
    seen = ~values if mask.grad_primitive is drop_if else values
    return bool((seen == np.tri(rows, dtype=bool)).all())


class _AttentionBuilder(ProgramBuilder):
    """One program whose attention is being replaced."""

    def __init__(self, old: Program, calls: Sequence[_AttentionCall]) -> None:
        super().__init__(old)
        self._old_specs = old.spec_table()
        self._replaced = {start for call in calls for start in call.attention.instructions}
        self._forward = {call.attention.mixture.product.results.start: call for call in calls}
        self._backward = {_first_reader(call.attention): call for call in calls}
        self._saved: dict[int, tuple[list[int], range]] = {}

    def run(self) -> Program:
        """Return the rewritten program.

        Raises:
            _NoKernelError: a place cannot be replaced.
        """
        for instruction in self.old.instructions:
            start = instruction.results.start
            call = self._forward.get(start) or self._backward.get(start)
            if call is None and start not in self._replaced:
                self.copy(instruction)
            elif call is not None:
                append = self._append_forward if start in self._forward else self._append_backward
                try:
                    append(call)
                except RuntimeError as error:
                    raise _NoKernelError(call) from error
        return self.program()

    # --- the program

    def _append_forward(self, call: _AttentionCall) -> None:
        written = call.attention
        product = written.mixture.product
        batch_shape = written.softmax.operation.out_specs[0].shape[:-2]
        scope = product.scope
        query, key = written.scores.product.operands
        operands = [
            self._with_batch_shape(self.new[query], batch_shape, scope),
            self._with_batch_shape(self._transposed(self.new[key], scope), batch_shape, scope),
            self._with_batch_shape(self.new[product.operands[1]], batch_shape, scope),
            *self._draw_numbers(written, scope),
            *self._mask(call, scope),
        ]
        specs = tuple(self.specs[number] for number in operands)
        options = tuple(call.attributes.items())
        operation = operation_of(attention, specs, (False,) * len(specs), options)
        # Without a kernel weights are computed again for the gradients, which costs more.
        if not is_fused(operation):
            raise _NoKernelError(call)
        results = self.append(operation, operands, scope)
        self._saved[product.results.start] = (operands, results)
        self._replace(product.results[0], results[0], scope)

    def _append_backward(self, call: _AttentionCall) -> None:
        gradients, product = call.attention.gradients, call.attention.mixture.product
        assert gradients is not None
        operands, results = self._saved[product.results.start]
        scope = call.attention.softmax.scope
        shape = self.specs[results[0]].shape
        gradient = self._with_shape(self.new[gradients.result], shape, scope)
        inputs = [gradient, *operands[:6], *results, *operands[6:]]
        attributes = {**call.attributes, "lse_gradient": False}
        dq, dk, dv = self.apply(attention_backward, inputs, attributes, scope)
        transposed = self._transposed(dk, scope) if gradients.key >= 0 else dk
        numbers = ((gradients.query, dq), (gradients.key, transposed), (gradients.value, dv))
        for old, new in numbers:
            if old >= 0:
                self._replace(old, new, scope)

    def _draw_numbers(self, attention: WrittenAttention, scope: str) -> list[int]:
        """The probability, seed and stream of dropout; zeros without it."""
        if attention.mixture.drop is not None:
            _, seed, stream, p, _ = attention.mixture.drop.operands
            return [self.new[number] for number in (p, seed, stream)]
        device = self.specs[self.new[attention.scores.product.operands[0]]].device
        numbers = [
            self.apply(zeros, (), {"shape": (), "dtype": dtype, "device": device}, scope)[0]
            for dtype in (float64, int64)
        ]
        return [*numbers, numbers[-1]]

    def _mask(self, call: _AttentionCall, scope: str) -> list[int]:
        """The mask, if there is one."""
        if len(call.masks) < 2:
            return [self._seen(mask, scope) for mask in call.masks]
        inner, outer = (self._seen(mask, scope) for mask in call.masks)
        first, second = call.masks
        if first.is_added == second.is_added:
            both = add if first.is_added else logical_and
            return [*self.apply(both, [inner, outer], {}, scope)]
        # A score that `where` sets behind the sum stays; one that it sets before is a term of it.
        seen, added = (outer, inner) if first.is_added else (inner, outer)
        fill = self._fill_like(second if first.is_added else first, added, scope)
        hidden = fill if first.is_added else self.apply(add, [added, fill], {}, scope)[0]
        return [*self.apply(where, [seen, added, hidden], {}, scope)]

    def _seen(self, mask: Mask, scope: str) -> int:
        """A mask that is added, or true where a key is seen."""
        number = self.new[mask.number]
        is_hidden = mask.grad_primitive is drop_if
        return self.apply(logical_not, [number], {}, scope)[0] if is_hidden else number

    def _fill_like(self, mask: Mask, like: int, scope: str) -> int:
        """The score of hidden keys, in the dtype of another value."""
        number, dtype = self.new[mask.hidden], self.specs[like].dtype
        if self.specs[number].dtype is dtype:
            return number
        if math.isfinite(mask.fill):
            raise RuntimeError(f"{dtype} may not have the score {mask.fill}")
        return self.apply(cast, [number], {"dtype": dtype}, scope)[0]

    def _transposed(self, number: int, scope: str) -> int:
        """A value with its last two dimensions exchanged."""
        ndim = self.specs[number].ndim
        perm = (*range(ndim - 2), ndim - 1, ndim - 2)
        return self.apply(transpose, [number], {"perm": perm}, scope)[0]

    def _with_batch_shape(self, number: int, batch_shape: tuple[int, ...], scope: str) -> int:
        return self._with_shape(number, (*batch_shape, *self.specs[number].shape[-2:]), scope)

    def _with_shape(self, number: int, shape: tuple[int, ...], scope: str) -> int:
        if self.specs[number].shape == shape:
            return number
        return self.apply(reshape, [number], {"shape": shape}, scope)[0]

    def _replace(self, old: int, new: int, scope: str) -> None:
        """Let a new value, in the old one's shape, take its place."""
        spec = self._old_specs[old]
        self.new[old] = self._with_shape(new, spec.shape, scope)
        if self.specs[self.new[old]] is not spec:
            raise RuntimeError(f"{self.specs[self.new[old]]} is not {spec}")


def _first_reader(attention: WrittenAttention) -> int:
    """The first instruction that reads the gradient of the result; -1: there is none."""
    gradients = attention.gradients
    if gradients is None:
        return -1
    users = [i for i in gradients.inner if gradients.result in i.operands]
    return min(instruction.results.start for instruction in users)
