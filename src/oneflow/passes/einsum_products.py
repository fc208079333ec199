"""Products that are written as `einsum` become `matmul`, with their gradients.

Meant are two operands with one dimension summed over, one of each operand in the result, and
batches: ``bqhd,bkhd->bhqk``. Transposes bring them into the order of `matmul`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from oneflow.passes.program_builder import ProgramBuilder
from oneflow.primitives.operation import Operation
from oneflow.primitives.operators.einsum import einsum
from oneflow.primitives.operators.matmul import matmul
from oneflow.primitives.operators.shape import transpose
from oneflow.program.ir import Instruction, Program

Labels = tuple[int, ...]


class Product(NamedTuple):
    """The labels of a product of batches.

    Attributes:
        left: the labels of the first operand.
        right: the labels of the second one.
        output: the labels of the result.
        batch: the labels of the dimensions that all have.
        row: the first operand's own label.
        column: the second one's own.
        summed: the label that is summed over.
        is_swapped: "first" is the second operand, so that rows are before columns in the result.
    """

    left: Labels
    right: Labels
    output: Labels
    batch: Labels
    row: int
    column: int
    summed: int
    is_swapped: bool


def products_of(program: Program) -> dict[int, Product]:
    """The products of batches that are written as `einsum`, by the number of the first result."""
    return {
        instruction.results.start: product
        for instruction in program.instructions
        if (product := _product_of(instruction.operation)) is not None
    }


def with_products(
    program: Program, products: Mapping[int, Product]
) -> tuple[Program, dict[int, int]]:
    """Put `matmul` in place of some of a program's `einsum` operations.

    Args:
        program: the program.
        products: the entries of `products_of` that are rewritten.

    Returns:
        The program, and for the result of each new `matmul` what it was in `products`.
    """
    if not products:
        return program, {}
    builder = _ProductBuilder(program, products)
    return builder.run(), builder.sources


def _product_of(operation: Operation) -> Product | None:
    """The product that an `einsum` or its gradient is; None: another operation."""
    primitive, attributes = operation.primitive, operation.attributes
    if primitive.vjp_of is einsum:
        attributes = dict(attributes["attributes"])
    elif primitive is not einsum:
        return None
    inputs, output = attributes["inputs"], attributes["output"]
    if len(inputs) != 2 or not _is_real(operation):
        return None
    left, right = map(set, inputs)
    batch = tuple(label for label in inputs[0] if label in right and label in output)
    parts = (left - right, right - left, (left & right) - set(output))
    is_product = len(left) == len(inputs[0]) and len(right) == len(inputs[1])
    is_product &= all(len(part) == 1 for part in parts)
    is_product &= set(output) == {*batch, *parts[0], *parts[1]}
    if not is_product or not batch or _broadcasts(operation, inputs):
        return None
    row, column, summed = (part.pop() for part in parts)
    if output.index(row) < output.index(column):
        return Product(inputs[0], inputs[1], output, batch, row, column, summed, is_swapped=False)
    return Product(inputs[1], inputs[0], output, batch, column, row, summed, is_swapped=True)


def _is_real(operation: Operation) -> bool:
    """Return whether all is of one floating-point dtype: gradients of others are conjugated."""
    dtypes = {spec.dtype for spec in (*operation.in_specs, *operation.out_specs)}
    return len(dtypes) == 1 and dtypes.pop().is_floating_point


def _broadcasts(operation: Operation, inputs: Sequence[Labels]) -> bool:
    """Return whether a label has two sizes."""
    sizes: dict[int, int] = {}
    return any(
        sizes.setdefault(label, size) != size
        for labels, spec in zip(inputs, operation.in_specs, strict=False)
        for label, size in zip(labels, spec.shape, strict=True)
    )


class _ProductBuilder(ProgramBuilder):
    """One program whose products are being rewritten.

    Attributes:
        sources: the first result of the old instruction that each product comes from.
    """

    def __init__(self, old: Program, products: Mapping[int, Product]) -> None:
        super().__init__(old)
        self._products = products
        self.sources: dict[int, int] = {}
        # Values in another order of dimensions, by the original values and the order.
        self._moved: dict[tuple[int, tuple[int, ...]], int] = {}

    def run(self) -> Program:
        """Return the rewritten program."""
        for instruction in self.old.instructions:
            product = self._products.get(instruction.results.start)
            if product is None:
                self.copy(instruction)
            elif instruction.operation.primitive is einsum:
                self._append_product(instruction, product)
            else:
                self._append_gradients(instruction, product)
        return self.program()

    def _append_product(self, instruction: Instruction, product: Product) -> None:
        left, right = self._operands(instruction, product)
        (result,) = self.apply(matmul, [left, right], {}, instruction.scope)
        self.sources[result] = instruction.results.start
        order = (*product.batch, product.row, product.column)
        self.new[instruction.results[0]] = self._moved_to(result, order, product.output)

    def _append_gradients(self, instruction: Instruction, product: Product) -> None:
        left, right = self._operands(instruction, product)
        batch, row, column, summed = product.batch, product.row, product.column, product.summed
        number = self.new[instruction.operands[2]]
        gradient = self._moved_to(number, product.output, (*batch, row, column))
        scope = instruction.scope
        argnums = instruction.operation.attributes["argnums"]
        for result, position in zip(instruction.results, argnums, strict=True):
            if position == product.is_swapped:
                operands = [gradient, self._transposed(right)]
                order, labels = (*batch, row, summed), product.left
            else:
                operands = [self._transposed(left), gradient]
                order, labels = (*batch, summed, column), product.right
            (product_gradient,) = self.apply(matmul, operands, {}, scope)
            self.sources[product_gradient] = instruction.results.start
            self.new[result] = self._moved_to(product_gradient, order, labels)

    def _operands(self, instruction: Instruction, product: Product) -> tuple[int, int]:
        """Both operands in the order of `matmul`."""
        first, second = (self.new[number] for number in instruction.operands[:2])
        left, right = (second, first) if product.is_swapped else (first, second)
        batch, summed = product.batch, product.summed
        return (
            self._moved_to(left, product.left, (*batch, product.row, summed)),
            self._moved_to(right, product.right, (*batch, summed, product.column)),
        )

    def _transposed(self, number: int) -> int:
        """A value with its last two dimensions exchanged."""
        *rest, row, column = range(self.specs[number].ndim)
        return self._moved_to(number, (*rest, row, column), (*rest, column, row))

    def _moved_to(self, number: int, labels: Sequence[Any], order: Sequence[Any]) -> int:
        """A value with its dimensions in another order; each is moved once."""
        perm = tuple(list(labels).index(label) for label in order)
        if perm == tuple(range(len(perm))):
            return number
        if (number, perm) not in self._moved:
            (self._moved[number, perm],) = self.apply(transpose, [number], {"perm": perm})
        return self._moved[number, perm]
