"""Order updates: a parameter is not replaced before everything that reads it has run.

XLA writes a new parameter over the old one only if it can tell that all users of the old one come
before. The gradient of a layer's input reads the weight, but the weight's own gradient does not
depend on it, so that XLA would copy every weight at the start of a step. Here the two gradients are
tied to each other. Only for programs that are compiled as a whole.

TPUs fuse the product that is the weight's gradient with the update, and the elementwise operations
behind the gradient of the input with its product: tied to each other, both would be stored. There
the weight's gradient reads its operand when the next operand of a product on the way of the input's
gradient is computed, which is stored in any case. A tied weight would be copied for the barrier.
XLA fuses casts of a weight with what reads them, which so reads it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from oneflow.passes.program_builder import ProgramBuilder
from oneflow.primitives.cost.operation_cost import operation_cost, product_flops, shard_bytes
from oneflow.primitives.operation import Operation
from oneflow.primitives.operators.elementwise import cast
from oneflow.primitives.operators.materialize import optimization_barrier
from oneflow.primitives.traits import Kind
from oneflow.program.ir import Program

# Smaller parameters are cheaper to copy than to keep apart.
_MIN_ELEMENTS = 1 << 14
# On TPUs a weight is cheaper to copy than an operand of so many times its bytes to read later: a
# step of ViT on a v5e, with operands of 8 and 32 times the weights, moved 2,926 MB, not 2,627.
_OPERAND_BYTES = 6


def order_updates(program: Program) -> Program:
    """Return the program with updates of parameters behind the other users of them."""
    updates = list(_updates(program))
    if not updates:
        return program
    uses = _Uses(program)
    gradients, dependencies = _gradient_ties(uses, updates), _dependencies(uses, updates)
    if not gradients and not dependencies:
        return program
    builder = _SchedulingBuilder(program, dependencies)
    for index in range(len(program.instructions)):
        builder.add(index)
        for numbers in gradients.get(index, ()):
            builder.replace(numbers, optimization_barrier, numbers)
    return builder.program()


@dataclass(frozen=True)
class _Dependency:
    """A gradient's product that waits for an operand of another product.

    Attributes:
        product: the instruction that is the gradient of a weight.
        operand: of it, which it reads later.
        next_product: the product whose operand it waits for.
        next_operand: that operand.
    """

    product: int
    operand: int
    next_product: int
    next_operand: int


class _SchedulingBuilder(ProgramBuilder):
    """A builder that puts gradients' products behind the products that they wait for."""

    def __init__(self, old: Program, dependencies: list[_Dependency]) -> None:
        super().__init__(old)
        self._dependencies = {dependency.product: dependency for dependency in dependencies}
        self._blocked: dict[int, list[_Dependency]] = defaultdict(list)
        for dependency in dependencies:
            self._blocked[dependency.next_product].append(dependency)
        # Instructions that wait, and the number of the operand to read in place of an old one.
        self._waiting: list[int] = []
        self._ordered: dict[int, int] = {}

    def add(self, index: int) -> None:
        """Append an instruction, or keep it until what it waits for is there."""
        if not self._is_ready(index):
            self._waiting.append(index)
        elif index in self._dependencies:
            self._copy_reading(index, {self._dependencies[index].operand: self._ordered[index]})
        elif index in self._blocked:
            self._copy_reading(index, self._insert_barrier(self._blocked[index]))
            waiting, self._waiting = self._waiting, []
            for later in waiting:
                self.add(later)
        else:
            self.copy(self.old.instructions[index])

    def _is_ready(self, index: int) -> bool:
        if index in self._dependencies and index not in self._ordered:
            return False
        return all(number in self.new for number in self.old.instructions[index].operands)

    def _insert_barrier(self, dependencies: list[_Dependency]) -> dict[int, int]:
        """Put a barrier behind operands and what they wait for; return the latter behind it."""
        next_operands = {dependency.next_operand for dependency in dependencies}
        numbers = [*next_operands, *(dependency.operand for dependency in dependencies)]
        ordered = self.apply(optimization_barrier, [self.new[number] for number in numbers])
        products = (dependency.product for dependency in dependencies)
        self._ordered.update(zip(products, ordered[len(next_operands) :], strict=True))
        return dict(zip(next_operands, ordered, strict=False))

    def _copy_reading(self, index: int, ordered: dict[int, int]) -> None:
        """Copy an instruction that reads values behind a barrier; other readers may be fused."""
        before = {number: self.new[number] for number in ordered}
        self.new.update(ordered)
        self.copy(self.old.instructions[index])
        self.new.update(before)


class _Uses:
    """Who computes and who reads the values of a program.

    Attributes:
        program: the program.
        producer: the instruction that computes a value.
        users: the instructions that read it.
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self.producer: dict[int, int] = {}
        self.users: dict[int, list[int]] = defaultdict(list)
        # For each instruction, a bit for every instruction that runs before it in any order.
        self._before: list[int] = []
        for index, instruction in enumerate(program.instructions):
            bits = 1 << index
            for number in set(instruction.operands):
                self.users[number].append(index)
                if number in self.producer:
                    bits |= self._before[self.producer[number]]
            self._before.append(bits)
            self.producer.update(dict.fromkeys(instruction.results, index))

    def is_before(self, index: int, other: int) -> bool:
        """Return true if an instruction is another one, or runs before it in any order."""
        return bool(self._before[other] >> index & 1)

    def shard_bytes(self, number: int) -> int:
        """The bytes that a device has of a computed value; 0 of an input."""
        if number not in self.producer:
            return 0
        instruction = self.program.instructions[self.producer[number]]
        return shard_bytes(instruction.operation.out_specs[instruction.results.index(number)])

    def independent_users(self, number: int, update: int, gradient: int) -> list[int]:
        """The other instructions that read a value, and that its gradient does not depend on."""
        ancestors = self._before[self.producer[gradient]]
        return [user for user in self.users[number] if user != update and not ancestors >> user & 1]


_Update = tuple[int, int, int]


def _updates(program: Program) -> Iterator[_Update]:
    """Index, parameter and gradient of each update of a large parameter."""
    computed = {number for instruction in program.instructions for number in instruction.results}
    for index, instruction in enumerate(program.instructions):
        operation = instruction.operation
        update = operation.primitive.traits.update
        # For GPUs XLA copies no weights: their updates are kernels of their own, at the end.
        if update is None or update.gradients is None or operation.device.type == "cuda":
            continue
        for parameter, gradient in update.gradients(operation):
            is_large = operation.in_specs[parameter].numel >= _MIN_ELEMENTS
            numbers = instruction.operands[parameter], instruction.operands[gradient]
            if is_large and numbers[0] < len(program.inputs) and numbers[1] in computed:
                yield index, *numbers


def _gradient_ties(uses: _Uses, updates: list[_Update]) -> dict[int, list[list[int]]]:
    """Map instructions to the lists of values to tie together behind them, the gradient first."""
    ties: dict[int, list[list[int]]] = defaultdict(list)
    instructions = uses.program.instructions
    for update, parameter, gradient in updates:
        if instructions[update].operation.device.type != "cpu":
            continue
        others = uses.independent_users(parameter, update, gradient)
        if others and others[-1] < update:
            numbers = [gradient, *(instructions[other].results[0] for other in others)]
            ties[max(uses.producer[number] for number in numbers)].append(numbers)
    return ties


def _dependencies(uses: _Uses, updates: list[_Update]) -> list[_Dependency]:
    """The products that are gradients and wait for those that read the weight."""
    dependencies: list[_Dependency] = []
    instructions = uses.program.instructions
    for update, parameter, gradient in updates:
        if instructions[update].operation.device.type != "tpu":
            continue
        product = _gradient_product(uses, gradient)
        if product is None:
            continue
        read = [parameter]
        for user in uses.users[parameter]:
            if instructions[user].operation.primitive is cast:
                read += instructions[user].results
        others = {
            other
            for number in read
            for other in uses.independent_users(number, update, gradient)
            if instructions[other].operation.primitive is not cast
        }
        if len(others) != 1:
            continue
        (other,) = others
        shared = set(instructions[other].operands).intersection(instructions[product].operands)
        next_product = _next_product(uses, other)
        if not shared or next_product is None:
            continue
        operand = min(shared)
        weight_bytes = shard_bytes(uses.program.inputs[parameter])
        if uses.shard_bytes(operand) <= _OPERAND_BYTES * weight_bytes:
            dependencies.append(_Dependency(product, operand, *next_product))
    next_products = {dependency.next_product for dependency in dependencies}
    return [
        dependency
        for dependency in dependencies
        if not any(uses.is_before(dependency.product, product) for product in next_products)
    ]


def _gradient_product(uses: _Uses, gradient: int) -> int | None:
    """The product whose result is a gradient, cast or exchanged."""
    while gradient in uses.producer:
        index = uses.producer[gradient]
        instruction = uses.program.instructions[index]
        primitive = instruction.operation.primitive
        if primitive.traits.kind is not Kind.BOXING and primitive is not cast:
            return index if _is_product(instruction.operation) else None
        (gradient,) = instruction.operands
    return None


def _next_product(uses: _Uses, index: int) -> tuple[int, int] | None:
    """The first product behind an instruction and what XLA fuses with it, and its operand."""
    instructions = uses.program.instructions
    values = set(instructions[index].results)
    for user in range(index + 1, len(instructions)):
        instruction = instructions[user]
        read = values.intersection(instruction.operands)
        if read and _is_product(instruction.operation):
            return user, min(read)
        if read and _is_fused(instruction.operation):
            values.update(instruction.results)
    return None


def _is_product(operation: Operation) -> bool:
    """Return true for what reads its operands from memory, for products."""
    kind = operation.primitive.traits.kind
    return kind in (Kind.COMPUTATION, Kind.CONVOLUTION) and product_flops(operation) > 0


def _is_fused(operation: Operation) -> bool:
    """Return true if XLA fuses the operation with the product whose result it reads."""
    return operation.primitive.elementwise or operation_cost(operation).is_permutation
