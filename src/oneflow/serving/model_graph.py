"""A saved graph as a model: named tensors in, named tensors out, for any number of rows."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np

from oneflow.base.device import CPU
from oneflow.base.dtype import DType
from oneflow.base.placement import Placement
from oneflow.base.spec import TensorSpec
from oneflow.checkpoint.serialization import load
from oneflow.functional.creation.from_data import from_numpy
from oneflow.graph.compiled_graph import graph_of_state
from oneflow.graph.saved_graph import SavedGraph, SavedStep
from oneflow.serving.datatypes import datatype_of
from oneflow.serving.errors import invalid

# Runs of each program by which its time is known, and the share of the highest rate that is still
# worth a larger batch.
_TIMED_RUNS, _MIN_RATIO = 3, 0.8
# The size of a dimension in metadata that differs between the saved programs.
ANY_SIZE = -1


class TensorSignature(NamedTuple):
    """A tensor that a model takes or returns.

    Attributes:
        name: its name.
        dtype: its data type.
        shape: its sizes, without that of the batch; -1 for one that has several values.
    """

    name: str
    dtype: DType
    shape: tuple[int, ...]


Shapes = tuple[tuple[int, ...], ...]


@dataclass
class Bucket:
    """The saved programs that differ in the size of the batch alone.

    Attributes:
        row_shapes: the shapes of the inputs without the dimension of the batch.
        steps: the programs by the number of rows, ascending; by 0 of a model without batches.
        seconds: the time of the shortest run of each program so far.
    """

    row_shapes: Shapes
    steps: dict[int, SavedStep] = field(default_factory=dict)
    seconds: dict[int, float] = field(default_factory=dict)

    @property
    def max_rows(self) -> int:
        """The most rows that a program takes."""
        return max(self.steps)

    @property
    def best_rows(self) -> int:
        """The largest number of rows with nearly the best throughput.

        Larger batches are no gain everywhere: what a small one needs may fit into a cache.
        """
        rows_per_second = {rows: rows / seconds for rows, seconds in self.seconds.items()}
        if not rows_per_second:
            return self.max_rows
        limit = _MIN_RATIO * max(rows_per_second.values())
        return max(rows for rows, rate in rows_per_second.items() if rate >= limit)

    def note_time(self, size: int, seconds: float) -> None:
        """Take note of a further run of a program whose time is known; longer ones had to wait."""
        if size in self.seconds:
            self.seconds[size] = min(seconds, self.seconds[size])

    def size_for(self, rows: int) -> int:
        """Return the number of rows of the smallest program that takes `rows`."""
        return min(size for size in self.steps if size >= rows)


class ModelGraph:
    """A saved graph whose programs are called with named arrays.

    If the graph was saved for several sizes of the first dimension, which all its inputs and
    outputs share, this dimension is that of the batch: any number of rows up to the largest size
    is computed, by the program for the next larger one.

    Args:
        path: the folder of the graph, see `load_version`.
        max_batch_size: the rows that one run may have; 0 for calls with exactly the saved shapes;
            None for what the saved programs say.

    Raises:
        ValueError: the graph cannot be served; says why.

    Attributes:
        inputs: its input tensors.
        outputs: its output tensors.
        max_batch_size: the most rows of a run; 0 for a model without batches.
    """

    def __init__(self, path: Path, max_batch_size: int | None = None) -> None:
        self._graph = load_version(path)
        steps = self._graph.steps
        _check_steps(steps)
        if max_batch_size is None:
            rows = {_rows_of(step) for step in steps}
            is_batched = len(rows) > 1 and None not in rows
        else:
            is_batched = max_batch_size > 0
        self._buckets = _buckets_of(steps, is_batched)
        largest = min(bucket.max_rows for bucket in self._buckets.values())
        if (max_batch_size or 0) > largest:
            raise ValueError(
                f"max_batch_size is {max_batch_size}, and the graph was saved for at most "
                f"{largest} rows; call it with larger batches before it is saved"
            )
        self.max_batch_size = (max_batch_size or largest) if is_batched else 0
        self.inputs = _metadata([step.inputs for step in steps], is_batched)
        self.outputs = _metadata([step.outputs for step in steps], is_batched)
        self._input_names = [spec.name for spec in self.inputs]
        self._output_names = [spec.name for spec in self.outputs]

    def number_tensors(self) -> None:
        """Name the tensors by their places, as OneFlow's backends for Triton do."""
        self.inputs = [spec._replace(name=f"INPUT_{n}") for n, spec in enumerate(self.inputs)]
        self.outputs = [spec._replace(name=f"OUTPUT_{n}") for n, spec in enumerate(self.outputs)]

    @property
    def buckets(self) -> Iterable[Bucket]:
        """The groups of programs whose inputs have the same row shapes."""
        return self._buckets.values()

    def bucket_for(self, arrays: Mapping[str, np.ndarray]) -> tuple[Bucket, int]:
        """Return the programs that take some arrays, and their number of rows.

        Raises:
            RequestError: names, data types or shapes are others than the model's.
        """
        unknown = arrays.keys() - {spec.name for spec in self.inputs}
        if unknown:
            raise invalid(f"there is no input `{min(unknown)}`; the inputs are {self._names()}")
        for spec in self.inputs:
            if spec.name not in arrays:
                raise invalid(f"input `{spec.name}` is missing; the inputs are {self._names()}")
            if arrays[spec.name].dtype != spec.dtype.numpy:
                raise invalid(f"input `{spec.name}` must have datatype {datatype_of(spec.dtype)}")
        shapes = tuple(arrays[spec.name].shape for spec in self.inputs)
        if not self.max_batch_size:
            return self._bucket(shapes), 0
        sizes = {shape[:1] for shape in shapes}
        if len(sizes) != 1 or sizes == {()}:
            raise invalid(f"all inputs need the same first dimension, that of the batch: {shapes}")
        rows = shapes[0][0]
        if not 0 < rows <= self.max_batch_size:
            raise invalid(f"a request may have 1 to {self.max_batch_size} rows, got {rows}")
        return self._bucket(tuple(shape[1:] for shape in shapes)), rows

    def _names(self) -> str:
        return ", ".join(f"`{spec.name}`" for spec in self.inputs)

    def _bucket(self, shapes: Shapes) -> Bucket:
        bucket = self._buckets.get(shapes)
        if bucket is None:
            accepted = "; ".join(
                ", ".join(map(str, map(list, shapes_of_bucket)))
                for shapes_of_bucket in self._buckets
            )
            received = ", ".join(map(str, map(list, shapes)))
            of = "rows of the inputs" if self.max_batch_size else "inputs"
            raise invalid(f"the {of} must have the shapes ({accepted}), got ({received})")
        return bucket

    def run(self, bucket: Bucket, size: int, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Return the outputs of a program.

        Args:
            bucket: one of this model's.
            size: the rows of the program.
            arrays: the inputs in the order of `inputs`, with `size` rows.

        Raises:
            Exception: what the program's run-time checks raise, or the runtime.
        """
        step = bucket.steps[size]
        by_name = dict(zip(self._input_names, arrays, strict=True))
        results = self._run_step(step, [by_name[name] for name in step.inputs])
        outputs = dict(zip(step.outputs, results, strict=True))
        return [outputs[name] for name in self._output_names]

    def _run_step(self, step: SavedStep, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        specs = step.inputs.values()
        if all(spec.device == CPU for spec in specs):
            return self._graph.run_arrays(step, arrays)
        tensors = [
            from_numpy(array).to(spec.device) for array, spec in zip(arrays, specs, strict=True)
        ]
        return [result.numpy() for result in self._graph.run_step(step, tensors)]

    def warm_up(self) -> None:
        """Run every program, so that no request waits for its compilation; note their times."""
        for bucket in self.buckets:
            for size in bucket.steps:
                head = (size,) if self.max_batch_size else ()
                shapes = [(*head, *shape) for shape in bucket.row_shapes]
                arrays = [
                    np.zeros(shape, spec.dtype.numpy)
                    for shape, spec in zip(shapes, self.inputs, strict=True)
                ]
                # Zeros may fail a run-time check of values; the program is compiled all the same.
                with contextlib.suppress(IndexError, ValueError):
                    self.run(bucket, size, arrays)
                    bucket.seconds[size] = self._seconds(bucket, size, arrays)

    def _seconds(self, bucket: Bucket, size: int, arrays: Sequence[np.ndarray]) -> float:
        """The shortest of a few runs, as others may need the processor, too."""
        times = []
        for _ in range(_TIMED_RUNS):
            start = time.perf_counter()
            self.run(bucket, size, arrays)
            times.append(time.perf_counter() - start)
        return min(times)


def load_version(path: Path) -> SavedGraph:
    """Load the graph of a version.

    Args:
        path: the folder that `graph.save` wrote; or, as OneFlow's backends for Triton have it, a
            folder with such a folder `model`, or with a file `model` that holds a graph's
            `runtime_state_dict`.
    """
    model = path / "model"
    if model.is_file():
        return graph_of_state(load(model))
    return SavedGraph(model if model.exists() else path)


def _check_steps(steps: Sequence[SavedStep]) -> None:
    """Make sure that requests can be answered with these programs.

    Raises:
        ValueError: they cannot.
    """
    for step in steps:
        if step.updated:
            raise ValueError(
                f"each call of the graph changes `{step.updated[0]}`, so that answers would depend "
                "on other requests; save a graph of modules in evaluation mode"
            )
        for spec in (*step.inputs.values(), *step.outputs.values()):
            datatype_of(spec.dtype)
            if isinstance(spec.device, Placement) or spec.sbp is not None:
                raise ValueError("a graph on a placement is not served; save one on one device")
    for kind in ("inputs", "outputs"):
        types = [_types(getattr(step, kind)) for step in steps]
        if any(names != types[0] for names in types):
            raise ValueError(f"the graph was saved for calls with different {kind}: {types}")
        if not types[0]:
            raise ValueError(f"the graph has no {kind}")


def _types(specs: Mapping[str, TensorSpec]) -> dict[str, str]:
    return {name: spec.dtype.name for name, spec in sorted(specs.items())}


def _rows_of(step: SavedStep) -> int | None:
    """The size of the first dimension that all tensors of a program share, if they do."""
    heads = {spec.shape[:1] for spec in (*step.inputs.values(), *step.outputs.values())}
    return next(iter(heads))[0] if len(heads) == 1 and () not in heads else None


def _buckets_of(steps: Sequence[SavedStep], is_batched: bool) -> dict[Shapes, Bucket]:
    """Group programs by the shapes of rows.

    Raises:
        ValueError: one of them has no batch.
    """
    names = list(steps[0].inputs)
    buckets: dict[Shapes, Bucket] = {}
    rows = {id(step): _rows_of(step) if is_batched else 0 for step in steps}
    if None in rows.values():
        raise ValueError(
            "inputs and outputs of the graph do not share their first dimension, so that requests "
            "cannot be batched; serve it with max_batch_size 0"
        )
    for step in sorted(steps, key=lambda step: rows[id(step)] or 0):
        shapes = tuple(step.inputs[name].shape[is_batched:] for name in names)
        bucket = buckets.setdefault(shapes, Bucket(shapes))
        bucket.steps[rows[id(step)] or 0] = step
    return buckets


def _metadata(
    specs_of_steps: Sequence[Mapping[str, TensorSpec]], is_batched: bool
) -> list[TensorSignature]:
    """Describe tensors by what all programs have in common.

    Raises:
        ValueError: one has different ranks.
    """
    metadata = []
    for name, spec in specs_of_steps[0].items():
        shapes = {tuple(tensors[name].shape[is_batched:]) for tensors in specs_of_steps}
        if len({len(shape) for shape in shapes}) > 1:
            raise ValueError(f"the graph was saved for different ranks of `{name}`")
        sizes = [set(sizes_of_axis) for sizes_of_axis in zip(*shapes, strict=True)]
        shape = tuple(
            sizes_of_axis.pop() if len(sizes_of_axis) == 1 else ANY_SIZE for sizes_of_axis in sizes
        )
        metadata.append(TensorSignature(name, spec.dtype, shape))
    return metadata
