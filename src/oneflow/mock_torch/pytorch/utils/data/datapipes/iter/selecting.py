"""Pipes that leave samples out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from oneflow.data.datapipes import IterDataPipe, functional_datapipe
from oneflow.mock_torch.pytorch.utils.data.datapipes.utils.common import (
    StreamWrapper,
    _check_unpickable_fn,
    call_with_columns,
    validate_input_col,
)


@functional_datapipe("filter")
class FilterIterDataPipe(IterDataPipe):
    """The samples for which a function returns True.

    Args:
        datapipe: the source.
        filter_fn: the function.
        input_col: the position or key of what it gets of a sample, or a list of them; None: all.
    """

    def __init__(
        self, datapipe: Any, filter_fn: Callable[..., bool], input_col: Any = None
    ) -> None:
        self.datapipe, self.filter_fn, self.input_col = datapipe, filter_fn, input_col
        _check_unpickable_fn(filter_fn)
        validate_input_col(filter_fn, input_col)

    def __iter__(self) -> Iterator[Any]:
        for sample in self.datapipe:
            condition = call_with_columns(self.filter_fn, sample, self.input_col)
            if not isinstance(condition, bool):
                raise ValueError(
                    "Boolean output is required for `filter_fn` of FilterIterDataPipe, got",
                    type(condition),
                )
            if condition:
                yield sample
            else:
                StreamWrapper.close_streams(sample)
