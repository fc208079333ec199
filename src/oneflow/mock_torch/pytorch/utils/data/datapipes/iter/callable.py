"""Pipes that call a function with each sample."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from oneflow.data.collate import default_collate
from oneflow.data.datapipes import IterDataPipe, functional_datapipe
from oneflow.mock_torch.pytorch.utils.data.datapipes.bases import length_of
from oneflow.mock_torch.pytorch.utils.data.datapipes.utils.common import (
    _check_unpickable_fn,
    call_with_columns,
    validate_input_col,
)


@functional_datapipe("map")
class MapperIterDataPipe(IterDataPipe):
    """Results of a function for each sample.

    Args:
        datapipe: the source.
        fn: the function.
        input_col: the position or key of what it gets of a sample, or a list of them; None: all.
        output_col: where its result goes in the sample; None: to the first of `input_col`, whose
            others are removed; -1: to the end.

    Raises:
        ValueError: there is an `output_col` alone, or one of several, or `fn` takes another number
            of arguments.
    """

    def __init__(
        self, datapipe: Any, fn: Callable[..., Any], input_col: Any = None, output_col: Any = None
    ) -> None:
        self.datapipe, self.fn, self.input_col = datapipe, fn, input_col
        _check_unpickable_fn(fn)
        if input_col is None and output_col is not None:
            raise ValueError("`output_col` must be None when `input_col` is None.")
        if isinstance(output_col, list | tuple):
            if len(output_col) > 1:
                raise ValueError("`output_col` must be a single-element list or tuple")
            output_col = next(iter(output_col), None)
        self.output_col = output_col
        validate_input_col(fn, input_col)

    def _apply_fn(self, data: Any) -> Any:
        result = call_with_columns(self.fn, data, self.input_col)
        if self.input_col is None:
            return result
        is_tuple = isinstance(data, tuple)
        sample: Any = list(data) if is_tuple else data
        if self.output_col == -1:
            sample.append(result)
        elif self.output_col is not None:
            sample[self.output_col] = result
        elif isinstance(self.input_col, list | tuple):
            first, *others = self.input_col
            sample[first] = result
            for column in sorted(others, reverse=True):
                del sample[column]
        else:
            sample[self.input_col] = result
        return tuple(sample) if is_tuple else sample

    def __iter__(self) -> Iterator[Any]:
        for data in self.datapipe:
            yield self._apply_fn(data)

    def __len__(self) -> int:
        return length_of(self, self.datapipe)


@functional_datapipe("collate")
class CollatorIterDataPipe(MapperIterDataPipe):
    """Batches as tensors.

    Args:
        datapipe: the source, of batches.
        conversion: the function that makes a batch of samples; used if there is no `collate_fn`.
        collate_fn: the same.

    Raises:
        NotImplementedError: `conversion` is a dictionary: its functions are for the columns of data
            frames of TorchArrow.
    """

    def __init__(
        self,
        datapipe: Any,
        conversion: Callable[..., Any] | dict[Any, Any] | None = default_collate,
        collate_fn: Callable[..., Any] | None = None,
    ) -> None:
        function = conversion if collate_fn is None else collate_fn
        if not callable(function):
            raise NotImplementedError(
                "`collate`: a dictionary of functions by column needs data frames of TorchArrow; "
                "give a function of the batch as `collate_fn`"
            )
        super().__init__(datapipe, fn=function)
