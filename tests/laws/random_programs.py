"""Programs of random operators, views and writes in place, which run in either library.

A program is drawn while PyTorch runs it: what PyTorch refuses, and what leaves the numbers that can
be compared, is left out. It is then a list of steps that names tensors by their position.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import torch

SHAPES = ((3,), (2, 3), (4, 1), (2, 3, 2), (), (1,), (0, 3), (3, 3))
DTYPES = ("float64", "float64", "float32", "int64", "bool")
# Larger numbers, and those so near a step that rounding decides, are left out.
LARGEST = 1e4
NEAR = 1e-4
_THRESHOLD = 0.371


class Step(NamedTuple):
    """One call: an operator by name, the positions of its operands, and its other arguments."""

    name: str
    operands: tuple[int, ...]
    arguments: tuple[Any, ...]


class Program(NamedTuple):
    """The arrays that a program starts from, and its steps."""

    inputs: tuple[np.ndarray, ...]
    steps: tuple[Step, ...]

    def run(self, lib: ModuleType, inputs: list[Any]) -> list[Any]:
        """All tensors of the program, its inputs (copied) first."""
        tensors = [
            tensor * 1 if tensor.dtype is not lib.bool else tensor.clone() for tensor in inputs
        ]
        for step in self.steps:
            operands = [tensors[position] for position in step.operands]
            tensors.append(OPERATORS[step.name].call(lib, *operands, *step.arguments))
        return tensors


class Operator(NamedTuple):
    """A kind of step: the number of operands, the arguments it draws, and its function."""

    operands: int
    draw: Callable[[np.random.Generator, Any], tuple]
    call: Callable


def _nothing(random: np.random.Generator, x: Any) -> tuple:
    return ()


def _dim(random: np.random.Generator, x: Any) -> tuple[int]:
    return (int(random.integers(-max(x.ndim, 1), max(x.ndim, 1))),)


def _range(random: np.random.Generator, x: Any) -> tuple[int, int, int]:
    (dim,) = _dim(random, x)
    size = x.shape[dim] if x.ndim else 1
    start = int(random.integers(0, size + 1))
    return dim, start, int(random.integers(0, size - start + 1))


def _number(random: np.random.Generator, x: Any) -> tuple[float]:
    return (float(random.integers(-3, 4)) if random.random() < 0.5 else float(random.normal()),)


def _sizes(random: np.random.Generator, x: Any) -> tuple[tuple[int, ...]]:
    added = (2,) if random.random() < 0.5 else ()
    return (added + tuple(3 if size == 1 else size for size in x.shape),)


def _write_part(lib: ModuleType, x: Any, y: Any, dim: int, start: int, length: int) -> Any:
    part = x.narrow(dim, start, length)
    part.copy_(y)
    return x


def _product(lib: ModuleType, x: Any, y: Any) -> Any:
    # PyTorch looks at the dtypes of batches of matrices only if they have elements.
    if x.dtype != y.dtype:
        raise TypeError(f"a product of {x.dtype} and {y.dtype}")
    return x @ y


def _permuted(random: np.random.Generator, x: Any) -> tuple[tuple[int, ...]]:
    return (tuple(int(dim) for dim in random.permutation(x.ndim)),)


OPERATORS = {
    "add": Operator(2, _nothing, lambda lib, x, y: x + y),
    "sub": Operator(2, _number, lambda lib, x, y, a: lib.sub(x, y, alpha=int(a))),
    "mul": Operator(2, _nothing, lambda lib, x, y: x * y),
    "maximum": Operator(2, _nothing, lambda lib, x, y: lib.maximum(x, y)),
    "div": Operator(2, _nothing, lambda lib, x, y: x / (y.double().abs() + 1)),
    "matmul": Operator(2, _nothing, _product),
    "where": Operator(2, _nothing, lambda lib, x, y: lib.where(x.double() > _THRESHOLD, x, y)),
    "cat": Operator(2, _dim, lambda lib, x, y, dim: lib.cat([x, y], dim)),
    "number": Operator(1, _number, lambda lib, x, a: x * a + 1),
    "sin": Operator(1, _nothing, lambda lib, x: lib.sin(x)),
    "tanh": Operator(1, _nothing, lambda lib, x: lib.tanh(x)),
    "square": Operator(1, _nothing, lambda lib, x: x**2),
    "log1p": Operator(1, _nothing, lambda lib, x: lib.log1p(x.abs())),
    "gelu": Operator(1, _nothing, lambda lib, x: lib.nn.functional.gelu(x)),
    "softmax": Operator(1, _dim, lambda lib, x, dim: lib.softmax(x.double(), dim)),
    "sum": Operator(1, _dim, lambda lib, x, dim: x.sum(dim)),
    "mean": Operator(1, _dim, lambda lib, x, dim: x.double().mean(dim, keepdim=True)),
    "amax": Operator(1, _dim, lambda lib, x, dim: x.amax(dim)),
    "cumsum": Operator(1, _dim, lambda lib, x, dim: x.cumsum(dim)),
    "sorted": Operator(1, _dim, lambda lib, x, dim: x.sort(dim)[0]),
    "flip": Operator(1, _dim, lambda lib, x, dim: x.flip(dim)),
    "to_int64": Operator(1, _nothing, lambda lib, x: (x.double() > _THRESHOLD).to(lib.int64)),
    "to_float32": Operator(1, _nothing, lambda lib, x: x.to(lib.float32)),
    "clone": Operator(1, _nothing, lambda lib, x: x.clone()),
    # Views.
    "transpose": Operator(1, _nothing, lambda lib, x: x.transpose(0, -1)),
    "permute": Operator(1, _permuted, lambda lib, x, order: x.permute(order)),
    "narrow": Operator(1, _range, lambda lib, x, dim, start, n: x.narrow(dim, start, n)),
    "unsqueeze": Operator(1, _dim, lambda lib, x, dim: x.unsqueeze(dim)),
    "squeeze": Operator(1, _nothing, lambda lib, x: x.squeeze()),
    "flatten": Operator(1, _nothing, lambda lib, x: x.reshape(-1)),
    "expand": Operator(1, _sizes, lambda lib, x, sizes: x.expand(sizes)),
    "select": Operator(1, _dim, lambda lib, x, dim: x.select(dim, 0)),
    "diagonal": Operator(1, _nothing, lambda lib, x: x.diagonal()),
    "every_second": Operator(1, _nothing, lambda lib, x: x[..., ::2]),
    # Writes in place; the result is the tensor itself.
    "add_": Operator(2, _nothing, lambda lib, x, y: x.add_(y)),
    "mul_": Operator(1, _number, lambda lib, x, a: x.mul_(int(a))),
    "sin_": Operator(1, _nothing, lambda lib, x: x.sin_()),
    "zero_": Operator(1, _nothing, lambda lib, x: x.zero_()),
    "copy_": Operator(2, _nothing, lambda lib, x, y: x.copy_(y)),
    "write_part": Operator(2, _range, _write_part),
    "masked_fill_": Operator(
        1, _number, lambda lib, x, a: x.masked_fill_(x.double() > _THRESHOLD, int(a))
    ),
}


def random_program(seed: int) -> Program:
    """The program of this number, of 5 to 30 steps."""
    random = np.random.default_rng(seed)
    inputs = tuple(_input(random) for _ in range(int(random.integers(2, 4))))
    steps: list[Step] = []
    length = int(random.integers(5, 31))
    for _ in range(8 * length):
        program = Program(inputs, tuple(steps))
        step = _drawn(random, program)
        if step is not None:
            steps.append(step)
        if len(steps) == length:
            break
    return Program(inputs, tuple(steps))


def _input(random: np.random.Generator) -> np.ndarray:
    shape = SHAPES[random.integers(len(SHAPES))]
    dtype = DTYPES[random.integers(len(DTYPES))]
    numbers = random.normal(size=shape)
    return np.asarray(numbers > 0 if dtype == "bool" else numbers * 2, dtype)


def _drawn(random: np.random.Generator, program: Program) -> Step | None:
    """A further step that PyTorch takes and whose numbers can be compared, or None."""
    names = list(OPERATORS)
    name = names[random.integers(len(names))]
    operator = OPERATORS[name]
    tensors = program.run(torch, torch_inputs(program))
    positions = tuple(
        int(integer) for integer in random.integers(0, len(tensors), operator.operands)
    )
    arguments = operator.draw(random, tensors[positions[0]])
    step = Step(name, positions, arguments)
    longer = Program(program.inputs, (*program.steps, step))
    try:
        after = longer.run(torch, torch_inputs(program))
    except (RuntimeError, IndexError, TypeError):
        return None
    return step if all(map(_is_comparable, after)) else None


def _is_comparable(x: torch.Tensor) -> bool:
    numbers = x.detach().double()
    near = ((numbers - _THRESHOLD).abs() < NEAR).any()
    return x.numel() < 1000 and bool((numbers.abs() < LARGEST).all()) and not bool(near)


def torch_inputs(program: Program) -> list[torch.Tensor]:
    """The inputs for PyTorch; floats require a gradient."""
    return [_leaf(torch.from_numpy(array.copy())) for array in program.inputs]


def _leaf(x: Any) -> Any:
    return x.requires_grad_() if x.dtype.is_floating_point else x


def leaves_of(lib: ModuleType, program: Program) -> list[Any]:
    """The inputs for a library; floats require a gradient."""
    return [_leaf(lib.tensor(array)) for array in program.inputs]


def gradients(lib: ModuleType, leaves: list[Any], tensors: list[Any]) -> list[Any] | None:
    """Gradients of a weighted sum of all results; None where the library refuses."""
    total = None
    for index, tensor in enumerate(tensors):
        if tensor.requires_grad:
            part = (tensor.to(lib.float64) * (index + 1)).sum()
            total = part if total is None else total + part
    wanted = [leaf for leaf in leaves if leaf.requires_grad]
    if total is None or not wanted:
        return []
    try:
        return list(lib.autograd.grad(total, wanted, allow_unused=True))
    except RuntimeError:
        return None
