"""The pattern of attention that is written out, in a program with its gradients.

    scores  = matmul(q, k.T)      scaled, cast, hidden by up to two masks, each by `where` or added
    weights = softmax(scores)     along the last dimension; dropped and cast after it
    result  = matmul(weights, v)

Its gradients, if there are any, are those that differentiation writes: of the last product,
dropout, `softmax_backward`, the mask, the factor and the first product. All of it is found, or
nothing: no other instruction reads a value in between.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from oneflow.passes.constant_values import ConstantValues
from oneflow.primitives.operators.elementwise import (
    add,
    add_scaled,
    cast,
    div,
    drop_if,
    keep_if,
    mul,
    where,
)
from oneflow.primitives.operators.matmul import matmul
from oneflow.primitives.operators.random import dropout
from oneflow.primitives.operators.shape import reshape, transpose
from oneflow.primitives.operators.softmax import softmax, softmax_backward
from oneflow.program.ir import Instruction, Program

# A model's own mask and one for padding, say.
_MAX_MASKS = 2


class Mask(NamedTuple):
    """A value that hides scores.

    Attributes:
        number: the number of its value.
        grad_primitive: the primitive of its gradient: `keep_if` where true shows a score, `drop_if`
            where true hides it; None: it is added to the scores.
        fill: the score of what is hidden.
        hidden: number of the value that is this score; -1 where the mask is added.
    """

    number: int
    grad_primitive: Any
    fill: float
    hidden: int = -1

    @property
    def is_added(self) -> bool:
        """True if it is added to the scores."""
        return self.grad_primitive is None


@dataclass(frozen=True)
class Scores:
    """The scores that a softmax reads.

    Attributes:
        product: the product of queries and transposed keys.
        scale: factor of the product.
        masks: what hides them, in this order.
        inner: the instructions from the product on.
    """

    product: Instruction
    scale: float
    masks: tuple[Mask, ...]
    inner: tuple[Instruction, ...]


@dataclass(frozen=True)
class Mixture:
    """From weights to the result.

    Attributes:
        product: the product of weights and values.
        drop: the dropout of the weights; None: there is none.
        inner: the instructions up to the product.
    """

    product: Instruction
    drop: Instruction | None
    inner: tuple[Instruction, ...]


@dataclass(frozen=True)
class Gradients:
    """The numbers of gradients; -1 where one is not computed.

    Attributes:
        result: the gradient of the result, from which the others come.
        query: the gradient of queries.
        key: the gradient of transposed keys.
        value: the gradient of values.
        inner: the instructions that compute them.
    """

    result: int
    query: int
    key: int
    value: int
    inner: tuple[Instruction, ...]


class WrittenAttention(NamedTuple):
    """One place where attention is written out; `gradients` is None without a backward pass."""

    scores: Scores
    softmax: Instruction
    mixture: Mixture
    gradients: Gradients | None

    @property
    def instructions(self) -> dict[int, Instruction]:
        """All instructions of the pattern, by the number of their first result."""
        inner = [*self.scores.inner, self.softmax, *self.mixture.inner]
        if self.gradients is not None:
            inner += self.gradients.inner
        return {instruction.results.start: instruction for instruction in inner}

    @property
    def results(self) -> set[int]:
        """The numbers of the values that others may read."""
        numbers = {self.mixture.product.results.start}
        if self.gradients is not None:
            numbers |= {self.gradients.query, self.gradients.key, self.gradients.value}
        return numbers


class _OtherPatternError(Exception):
    """The instructions do not compute attention."""


class AttentionFinder:
    """Finds attention in a program.

    Args:
        program: the program.
        constants: what is known of its values.
    """

    def __init__(self, program: Program, constants: ConstantValues) -> None:
        self._constants = constants
        self._specs = program.spec_table()
        self._outputs = set(program.outputs)
        self._users: dict[int, list[Instruction]] = defaultdict(list)
        for instruction in program.instructions:
            for number in set(instruction.operands):
                self._users[number].append(instruction)
        self._instructions = program.instructions

    def __iter__(self) -> Iterator[WrittenAttention]:
        for instruction in self._instructions:
            if _is_of_last_dim(instruction):
                try:
                    yield self._attention(instruction)
                except _OtherPatternError:
                    continue

    def _attention(self, instruction: Instruction) -> WrittenAttention:
        scores = self._scores(instruction.operands[0])
        mixture = self._mixture(instruction)
        gradients = self._gradients(instruction, scores, mixture)
        attention = WrittenAttention(scores, instruction, mixture, gradients)
        self._require_dtypes(attention)
        inner = attention.instructions
        for start, part in inner.items():
            for number in set(part.results) - attention.results:
                users = self._users[number]
                _require(number not in self._outputs)
                _require(all(user.results.start in inner for user in users))
            _require(len(part.results) == 1 and start == part.results[0])
        return attention

    def _require_dtypes(self, attention: WrittenAttention) -> None:
        """One dtype before and behind, nothing narrower in between, and a mask of matrices."""
        _require(all(self._specs[mask.number].ndim > 1 for mask in attention.scores.masks))
        query, key = attention.scores.product.operands
        number, value = attention.mixture.product.operands
        dtypes = {self._specs[n].dtype for n in (query, key, value, number)}
        (result,) = attention.mixture.product.operation.out_specs
        _require(len({*dtypes, result.dtype}) == 1 and result.dtype.is_floating_point)
        for part in (*attention.scores.inner, attention.softmax, *attention.mixture.inner):
            (spec,) = part.operation.out_specs
            _require(spec.dtype.is_floating_point and spec.dtype.itemsize >= result.dtype.itemsize)

    # --- forward

    def _scores(self, number: int) -> Scores:
        """The scores with that number."""
        instruction = self._producer(number)
        if instruction.operation.primitive is matmul:
            _require(_is_of_batches(instruction))
            return Scores(instruction, 1.0, (), (instruction,))
        for position, factor, mask in self._steps(instruction):
            spec = instruction.operation.in_specs[position]
            if spec.shape[-2:] != instruction.operation.out_specs[0].shape[-2:]:
                continue
            try:
                below = self._scores(instruction.operands[position])
            except _OtherPatternError:
                continue
            is_same_shape = spec.shape == instruction.operation.out_specs[0].shape
            masks = (*below.masks, *([] if mask is None else [mask]))
            # A factor behind a mask would change it, too.
            if len(masks) <= _MAX_MASKS and (factor == 1.0 or not below.masks):
                _require(not masks or is_same_shape)
                return Scores(
                    below.product, below.scale * factor, masks, (*below.inner, instruction)
                )
        raise _OtherPatternError

    def _steps(self, instruction: Instruction) -> Iterator[tuple[int, float, Mask | None]]:
        """The operands that may be scores: position, factor and mask of the operations on them."""
        primitive, operands = instruction.operation.primitive, instruction.operands
        if primitive in (cast, reshape):
            yield 0, 1.0, None
        elif primitive in (mul, div):
            yield from ((position, factor, None) for position, factor in self._scaled(instruction))
        elif primitive is where:
            condition, shown, hidden = operands
            if (fill := self._fill(hidden)) is not None:
                yield 1, 1.0, Mask(condition, keep_if, fill, hidden)
            if (fill := self._fill(shown)) is not None:
                yield 2, 1.0, Mask(condition, drop_if, fill, shown)
        elif primitive is add:
            yield 0, 1.0, Mask(operands[1], None, -math.inf)
            yield 1, 1.0, Mask(operands[0], None, -math.inf)
        elif (
            primitive is add_scaled
            and (factor := self._constants.constant(operands[2])) is not None
        ):
            yield 1, factor, Mask(operands[0], None, -math.inf)

    def _fill(self, number: int) -> float | None:
        """The score that a value puts in place of others; None: it is not one that hides them."""
        fill = self._constants.constant(number)
        return None if fill is None or math.isnan(fill) else fill

    def _scaled(self, instruction: Instruction) -> Iterator[tuple[int, float]]:
        """The operands that are scaled by a constant, each with its factor."""
        is_division = instruction.operation.primitive is div
        for position in (0,) if is_division else (0, 1):
            constant = self._constants.constant(instruction.operands[1 - position])
            if constant:
                yield position, 1 / constant if is_division else constant

    def _mixture(self, instruction: Instruction) -> Mixture:
        """The instructions from weights to the result."""
        inner: list[Instruction] = []
        drop = None
        number = instruction.results[0]
        while True:
            user = _only(filter(_reads_weights(number), self._users[number]))
            inner.append(user)
            if user.operation.primitive is matmul:
                _require(_is_of_batches(user))
                return Mixture(user, drop, tuple(inner))
            if user.operation.primitive is dropout:
                _require(drop is None)
                _require(
                    user.operation.out_specs[0].shape == instruction.operation.out_specs[0].shape
                )
                drop = user
            number = user.results[0]

    # --- backward

    def _gradients(
        self, instruction: Instruction, scores: Scores, mixture: Mixture
    ) -> Gradients | None:
        """The gradients; None if there are none."""
        weights = instruction.results[0]
        backward = [
            user
            for user in self._users[weights]
            if user.operation.primitive is softmax_backward and user.operands[1] == weights
        ]
        if not backward:
            return None
        slope = _only(backward)
        before, gradient = self._weight_gradient(slope, mixture)
        after, query, key = self._score_gradients(slope, scores)
        values, value = self._value_gradient(mixture, gradient)
        return Gradients(gradient, query, key, value, (*before, slope, *after, *values))

    def _weight_gradient(
        self, slope: Instruction, mixture: Mixture
    ) -> tuple[list[Instruction], int]:
        """The instructions from the result's gradient to the weights' gradient, and the former."""
        inner: list[Instruction] = []
        has_dropout = False
        number = slope.operands[0]
        while True:
            step = self._producer(number)
            inner.append(step)
            primitive = step.operation.primitive
            if primitive is matmul:
                break
            if primitive is dropout:
                _require(not has_dropout and self._is_same_draw(step, mixture.drop))
                has_dropout = True
            else:
                _require(primitive in (cast, reshape))
            number = step.operands[0]
        _require(has_dropout == (mixture.drop is not None))
        gradient, values = step.operands
        _require(self._is_transpose_of(values, mixture.product.operands[1]))
        return inner, gradient

    def _producer(self, number: int) -> Instruction:
        """The instruction that a value comes from."""
        producer = self._constants.producer(number)
        if producer is None:
            raise _OtherPatternError
        return producer

    def _is_same_draw(self, drop: Instruction, other: Instruction | None) -> bool:
        """Return whether two dropouts drop the same elements."""
        if other is None:
            return False
        p, scale = (
            (self._constants.constant(d.operands[n]) for d in (drop, other)) for n in (3, 4)
        )
        same_place = drop.operands[1:3] == other.operands[1:3]
        return same_place and _are_equal(p) and _are_equal(scale) and _is_full_dropout(drop)

    def _score_gradients(
        self, slope: Instruction, scores: Scores
    ) -> tuple[list[Instruction], int, int]:
        """From the scores' gradient to the gradients of queries and transposed keys."""
        inner: list[Instruction] = []
        scale, masks = 1.0, []
        number = slope.results[0]
        while not self._are_products(number):
            step = _only(self._users[number])
            primitive = step.operation.primitive
            if primitive in (keep_if, drop_if):
                masks.append((step.operands[1], primitive))
            elif primitive in (mul, div):
                factors = dict(self._scaled(step))
                _require(number in step.operands[:1] and 0 in factors)
                scale *= factors[0]
            else:
                _require(primitive in (cast, reshape))
            inner.append(step)
            number = step.results[0]
        fills = [mask for mask in reversed(scores.masks) if not mask.is_added]
        _require(masks == [(mask.number, mask.grad_primitive) for mask in fills])
        _require(math.isclose(scale, scores.scale, rel_tol=1e-6))
        query, key = scores.product.operands
        of_query = self._product(number, 0, key)
        of_key = self._product(number, 1, query)
        inner += [step for step in (of_query, of_key) if step is not None]
        return inner, _first_result(of_query), _first_result(of_key)

    def _are_products(self, number: int) -> bool:
        users = self._users[number]
        return bool(users) and all(user.operation.primitive is matmul for user in users)

    def _product(self, number: int, position: int, other: int) -> Instruction | None:
        """The product of a gradient with another operand, transposed; None: nobody needs it."""
        products = [
            user
            for user in self._users[number]
            if user.operands[position] == number
            and self._is_transpose_of(user.operands[1 - position], other)
        ]
        _require(len(products) < 2)
        return products[0] if products else None

    def _value_gradient(self, mixture: Mixture, gradient: int) -> tuple[list[Instruction], int]:
        """The instructions of the values' gradient, and its number."""
        weights = mixture.product.operands[0]
        transposes = [user for user in self._users[weights] if _is_transpose(user)]
        if not transposes:
            return [], -1
        transposed = _only(transposes)
        product = _only(self._users[transposed.results[0]])
        _require(product.operation.primitive is matmul)
        _require(product.operands == (transposed.results[0], gradient))
        return [transposed, product], product.results[0]

    def _is_transpose_of(self, number: int, other: int) -> bool:
        """Return whether a value is another with its last two dimensions exchanged."""
        step = self._constants.producer(number)
        return step is not None and _is_transpose(step) and step.operands[0] == other


def _require(condition: bool) -> None:
    if not condition:
        raise _OtherPatternError


def _only(instructions: Iterable[Instruction]) -> Instruction:
    """The one instruction; several, or none, are another pattern."""
    first, *others = [*instructions] or [None]
    if first is None or others:
        raise _OtherPatternError
    return first


def _first_result(instruction: Instruction | None) -> int:
    return -1 if instruction is None else instruction.results[0]


def _are_equal(pair: Iterator[float | None]) -> bool:
    first, second = pair
    return first is not None and first == second


def _is_of_last_dim(instruction: Instruction) -> bool:
    operation = instruction.operation
    ndim = operation.out_specs[0].ndim
    return operation.primitive is softmax and ndim > 2 and operation.attributes["dim"] == ndim - 1


def _is_of_batches(instruction: Instruction) -> bool:
    """Return whether a product is batched without broadcasting."""
    x, y = instruction.operation.in_specs
    return x.ndim > 2 and x.shape[:-2] == y.shape[:-2]


def _is_full_dropout(instruction: Instruction) -> bool:
    """Return whether each element is dropped by itself."""
    return not instruction.operation.attributes.get("broadcast_dims", ())


def _is_transpose(instruction: Instruction) -> bool:
    """Return whether it exchanges the last two dimensions."""
    operation = instruction.operation
    if operation.primitive is not transpose:
        return False
    ndim = operation.out_specs[0].ndim
    return tuple(operation.attributes["perm"]) == (*range(ndim - 2), ndim - 1, ndim - 2)


def _reads_weights(number: int) -> Callable[[Instruction], bool]:
    """The test for an instruction that goes on from weights towards the result."""

    def reads(instruction: Instruction) -> bool:
        operation = instruction.operation
        if instruction.operands[0] != number:
            return False
        if operation.primitive is reshape:
            return operation.in_specs[0].shape[-2:] == operation.out_specs[0].shape[-2:]
        if operation.primitive is dropout:
            return _is_full_dropout(instruction)
        return operation.primitive in (cast, matmul)

    return reads
