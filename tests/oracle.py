"""Running a sample call in OneFlow and in PyTorch, and comparing what comes out."""

from __future__ import annotations

import contextlib
import zlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import ml_dtypes
import numpy as np
import torch

import oneflow as flow
from oneflow.base.x64 import in_x64
from oneflow.program.evaluate import evaluate
from oneflow.program.ir import program_from_key
from oneflow.runtime.eager import current, flush_all
from oneflow.runtime.eager_settings import SETTINGS
from oneflow.runtime.lazy_array import HostArray
from oneflow.tensor import Tensor
from oneflow.tensor.transfer import import_array
from oneflow.tensor.views import unwrap
from tests.samples.table import Case, DTypeSample, Operator, TensorSample

_NEVER = 1 << 60
# Relative and absolute tolerance per dtype.
_TOLERANCE = {
    "float64": (1e-7, 1e-9),
    "float32": (2e-5, 2e-6),
    "float16": (2e-3, 2e-3),
    "bfloat16": (1.6e-2, 1.6e-2),
    "complex64": (2e-5, 2e-6),
    "complex128": (1e-7, 1e-9),
}
_NUMPY = {"bfloat16": np.dtype(ml_dtypes.bfloat16), "bool": np.dtype(np.bool_)}


# --- sample tensors


def sample_array(sample: TensorSample, dtype: str, seed: str) -> np.ndarray:
    """The numbers that a tensor sample stands for; the memory that its layout is cut from."""
    name = sample.dtype or dtype
    numpy_dtype = _NUMPY.get(name) or np.dtype(name)
    shape = _memory_shape(sample)
    if sample.values is not None:
        return _converted(np.asarray(sample.values).reshape(shape), numpy_dtype)
    random = np.random.default_rng(zlib.crc32(seed.encode()))
    count = int(np.prod(shape))
    if name == "bool":
        return np.asarray(random.random(shape) < 0.5)
    if "int" in name:
        low = max(int(np.floor(sample.low)), 0 if name.startswith("u") else -100)
        array = random.integers(low, max(int(np.ceil(sample.high)), low) + 1, count)
        return (
            (random.permutation(count) + low if sample.distinct else array)
            .reshape(shape)
            .astype(numpy_dtype)
        )
    array = random.uniform(sample.low, sample.high, count)
    if sample.distinct:
        array = sample.low + (random.permutation(count) + 0.5) * (sample.high - sample.low) / max(
            count, 1
        )
    if "complex" in name:
        array = array + 1j * random.uniform(sample.low, sample.high, count)
    return array.reshape(shape).astype(numpy_dtype)


def _converted(values: np.ndarray, dtype: np.dtype) -> np.ndarray:
    if dtype.kind in "iu" and values.dtype.kind == "f":
        values = np.asarray(np.nan_to_num(values, nan=0, posinf=3, neginf=-3))
    return np.abs(values).astype(dtype) if dtype.kind == "u" else values.astype(dtype)


def _memory_shape(sample: TensorSample) -> tuple[int, ...]:
    shape = sample.shape
    if sample.layout == "transposed":
        return (*shape[:-2], shape[-1], shape[-2])
    if sample.layout == "strided":
        return (*shape[:-1], 2 * shape[-1])
    if sample.layout == "expanded":
        return (1, *shape[1:])
    return shape


def _laid_out(memory: Any, sample: TensorSample) -> Any:
    """The sample's view of its memory, in either library."""
    if sample.layout == "transposed":
        return memory.transpose(-1, -2)
    if sample.layout == "strided":
        return memory[..., ::2]
    if sample.layout == "expanded":
        return memory.expand(*sample.shape)
    return memory


def to_flow(array: np.ndarray) -> Tensor:
    """A OneFlow tensor with these numbers."""
    return import_array(array)


def to_torch(array: np.ndarray) -> torch.Tensor:
    """A PyTorch tensor with these numbers."""
    if array.dtype == ml_dtypes.bfloat16:
        return torch.from_numpy(array.astype(np.float32)).to(torch.bfloat16)
    return torch.from_numpy(array.copy())


# --- calls


class Library:
    """One of the two libraries, with what the laws need of it."""

    def __init__(self, module: Any, make: Callable, gradients: Callable) -> None:
        self.module = module
        self.make = make
        self.gradients = gradients

    def function(self, row: Operator) -> Callable:
        """The operator of a row in this library."""
        chosen = (
            row.torch if self.module is torch and row.torch is not None else row.call or row.name
        )
        if callable(chosen):
            return (
                (lambda *args, **kwargs: chosen(self.module, *args, **kwargs))
                if row.call is chosen
                else chosen
            )
        found = self.module
        for part in chosen.split("."):
            found = getattr(found, part)
        return found

    def arguments(
        self,
        case: Case,
        dtype: str,
        seed: str,
        with_grad: bool = False,
        prepare: Callable = lambda leaf: leaf,
    ) -> Arguments:
        """The arguments of a case as this library's tensors.

        Those that take a gradient are `prepare` of the leaves.
        """
        return Arguments(self, case, dtype, seed, with_grad, prepare)


class Arguments:
    """Arguments made from samples; `leaves` are the tensors that take a gradient."""

    def __init__(
        self,
        library: Library,
        case: Case,
        dtype: str,
        seed: str,
        with_grad: bool,
        prepare: Callable,
    ) -> None:
        self._library, self._dtype, self._seed, self._with_grad = library, dtype, seed, with_grad
        self._prepare = prepare
        self.leaves: list = []
        self.args = [self._make(argument, str(index)) for index, argument in enumerate(case.args)]
        self.kwargs = {name: self._make(value, name) for name, value in case.kwargs.items()}

    def _make(self, value: Any, place: str) -> Any:
        if isinstance(value, TensorSample):
            array = sample_array(value, self._dtype, f"{self._seed}/{place}")
            memory = self._library.make(array)
            if (
                self._with_grad
                and value.grad
                and (array.dtype.kind in "fc" or array.dtype == ml_dtypes.bfloat16)
            ):
                memory.requires_grad_()
                self.leaves.append(memory)
                memory = self._prepare(memory)
            return _laid_out(memory, value)
        if isinstance(value, DTypeSample):
            return getattr(self._library.module, value.name)
        if type(value) in (list, tuple):
            return type(value)(
                self._make(part, f"{place}.{index}") for index, part in enumerate(value)
            )
        return value


def _gradients(grad: Callable) -> Callable:
    """``autograd.grad`` of either library for outputs of which some may not require grad."""

    def compute(outputs: Sequence, given: Sequence, inputs: Sequence, create_graph: bool) -> list:
        pairs = [(y, c) for y, c in zip(outputs, given, strict=True) if y.requires_grad]
        if not pairs:
            return [None] * len(inputs)
        chosen, cotangents = (list(column) for column in zip(*pairs, strict=True))
        options = {"create_graph": create_graph, "retain_graph": True, "allow_unused": True}
        return list(grad(chosen, list(inputs), cotangents, **options))

    return compute


FLOW = Library(flow, to_flow, _gradients(flow.autograd.grad))
TORCH = Library(torch, to_torch, _gradients(torch.autograd.grad))


def flat_tensors(result: Any) -> list:
    """The tensors in a result."""
    if isinstance(result, Tensor | torch.Tensor):
        return [result]
    if isinstance(result, list | tuple):
        return [tensor for part in result for tensor in flat_tensors(part)]
    return []


def with_gradients(
    library: Library, row: Operator, case: Case, dtype: str, seed: str, order: int
) -> tuple[list, list[list | None]]:
    """Outputs of a case and its gradients up to `order`, one list per order; nothing is read."""
    arguments = library.arguments(case, dtype, seed, with_grad=True)
    return differentiated(library, row, arguments, seed, order)


def differentiated(
    library: Library, row: Operator, arguments: Arguments, seed: str, order: int
) -> tuple[list, list[list | None]]:
    """Outputs of a call and its gradients up to `order`, one list per order; nothing is read."""
    outputs = [
        y
        for y in flat_tensors(library.function(row)(*arguments.args, **arguments.kwargs))
        if y.requires_grad
    ]
    levels: list = []
    inputs, current, places = arguments.leaves, outputs, list(range(len(outputs)))
    for level in range(order):
        cotangents = cotangents_of(library, current, f"{seed}/cotangent{level}", places)
        if level + 1 < order:
            for cotangent in cotangents:
                cotangent.requires_grad_()
        grads = library.gradients(current, cotangents, inputs, level + 1 < order)
        levels.append(grads)
        inputs = [*inputs, *cotangents]
        # The libraries need not agree on which gradients have a gradient.
        places = [n for n, grad in enumerate(grads) if grad is not None and grad.requires_grad]
        current = [grads[place] for place in places]
    return outputs, levels


def cotangents_of(
    library: Library, outputs: Sequence, seed: str, places: Sequence[int] | None = None
) -> list:
    """Numbers to start a backward pass from `outputs` with, which depend on their places."""
    numbered = zip(range(len(outputs)) if places is None else places, outputs, strict=True)
    return [library.make(_cotangent(output, f"{seed}.{place}")) for place, output in numbered]


def _cotangent(output: Any, seed: str) -> np.ndarray:
    name = dtype_name(output)
    return sample_array(TensorSample(tuple(output.shape), low=0.5, high=1.5), name, seed)


# --- comparing


def dtype_name(tensor: Any) -> str:
    """The name of a tensor's dtype, or of a dtype, the same in both libraries."""
    return str(getattr(tensor, "dtype", tensor)).rpartition(".")[2]


def to_numpy(tensor: Any) -> np.ndarray:
    """A NumPy array of either library's tensor; bfloat16 as float32."""
    if isinstance(tensor, torch.Tensor):
        tensor = tensor.detach().resolve_conj().resolve_neg()
        return (tensor.float() if tensor.dtype is torch.bfloat16 else tensor).numpy(force=True)
    array = tensor.numpy()
    return array.astype(np.float32) if array.dtype == ml_dtypes.bfloat16 else array


def difference(mine: Any, theirs: Any, tolerance: float = 1.0, values: bool = True) -> str | None:
    """The difference between OneFlow's result and PyTorch's, or None."""
    if isinstance(theirs, torch.Tensor):
        return _tensor_difference(mine, theirs, tolerance, values)
    if isinstance(theirs, list | tuple):
        return _sequence_difference(mine, theirs, tolerance, values)
    if isinstance(theirs, torch.dtype):
        same = dtype_name(theirs) == getattr(mine, "name", None)
    elif isinstance(theirs, float) and isinstance(mine, float):
        same = np.isclose(mine, theirs, rtol=1e-5, equal_nan=True)
    else:
        same = type(mine) is type(theirs) and mine == theirs
    return None if same else f"{mine!r}, expected {theirs!r}"


def _tensor_difference(mine: Any, theirs: Any, tolerance: float, values: bool) -> str | None:
    if not isinstance(mine, Tensor):
        return f"expected a tensor, got {type(mine).__name__}"
    if tuple(mine.shape) != tuple(theirs.shape):
        return f"shape {tuple(mine.shape)}, expected {tuple(theirs.shape)}"
    if dtype_name(mine) != dtype_name(theirs):
        return f"dtype {dtype_name(mine)}, expected {dtype_name(theirs)}"
    if not values:
        return None
    return array_difference(to_numpy(mine), to_numpy(theirs), dtype_name(mine), tolerance)


def _sequence_difference(mine: Any, theirs: Any, tolerance: float, values: bool) -> str | None:
    if not isinstance(mine, list | tuple) or len(mine) != len(theirs):
        return f"expected {len(theirs)} results, got {mine!r}"
    missing = [name for name in getattr(mine, "_fields", ()) if not hasattr(theirs, name)]
    if missing:
        return f"result has fields {missing} that torch's lacks"
    for index, pair in enumerate(zip(mine, theirs, strict=True)):
        problem = difference(*pair, tolerance, values)
        if problem:
            return f"result {index}: {problem}"
    return None


def array_difference(
    mine: np.ndarray, theirs: np.ndarray, dtype: str, tolerance: float = 1.0
) -> str | None:
    """The difference between two arrays of one shape, or None."""
    relative, absolute = _TOLERANCE.get(dtype, (0.0, 0.0))
    if dtype in _TOLERANCE:
        with np.errstate(invalid="ignore"):
            close = np.isclose(
                mine, theirs, rtol=relative * tolerance, atol=absolute * tolerance, equal_nan=True
            )
    else:
        close = mine == theirs
    if np.all(close):
        return None
    where = tuple(int(index) for index in np.argwhere(~close)[0]) if mine.ndim else ()
    return (
        f"{np.sum(~close)} of {mine.size} values differ, first at {where}: "
        f"{mine[where]}, expected {theirs[where]}"
    )


def gradient_difference(mine: list, theirs: list, tolerance: float) -> str | None:
    """The difference between gradients, or None; where PyTorch has no gradient, zeros will do."""
    for index, (a, b) in enumerate(zip(mine, theirs, strict=True)):
        if b is None:
            if a is None:
                continue
            b = torch.zeros(tuple(a.shape), dtype=getattr(torch, dtype_name(a)))
        elif a is None:
            return f"gradient {index}: there is none, expected {b!r}"
        problem = difference(a, b, tolerance)
        if problem:
            return f"gradient {index}: {problem}"
    return None


# --- running OneFlow in a chosen way


@contextlib.contextmanager
def eager_mode(mode: str) -> Iterator[None]:
    """Run everything ``"cold"`` (op by op) or ``"compiled"`` (each program as one executable)."""
    flush_all("sync")
    before = SETTINGS.mode, SETTINGS.hot_after
    SETTINGS.mode = "deferred" if mode == "cold" else mode
    SETTINGS.hot_after = _NEVER
    try:
        yield
    finally:
        SETTINGS.mode, SETTINGS.hot_after = before


def input_values(array: Any) -> Any:
    """An input of a recorded program; its numbers may not have been put on a device yet."""
    return array.numbers if isinstance(array, HostArray) else array


@in_x64
def evaluated(tensors: Sequence[Tensor]) -> list[np.ndarray] | None:
    """Pending tensors by the plain evaluator; None if reading values was needed to make them."""
    recorder = current.recorder
    values = [unwrap(tensor) for tensor in tensors]
    if recorder is None or any(value.recorder is not recorder for value in values):
        return None
    program = program_from_key(recorder.key, [value.position for value in values])
    numbers = [
        np.asarray(number, spec.dtype.numpy)
        for number, spec in zip(recorder.scalars, program.scalars, strict=True)
    ]
    arrays, _ = evaluate(program, list(map(input_values, recorder.arrays)), numbers)
    return [np.asarray(array) for array in arrays]
