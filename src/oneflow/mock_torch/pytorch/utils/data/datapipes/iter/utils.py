"""Pipes of any iterable."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterable, Iterator
from typing import Any

from oneflow.data.datapipes import IterDataPipe
from oneflow.mock_torch.pytorch.utils.data.datapipes.bases import length_of


class IterableWrapperIterDataPipe(IterDataPipe):
    """The samples of an iterable.

    Args:
        iterable: the iterable.
        deepcopy: each iterator reads a copy, so that what changes samples in place does not change
            those of the next epoch.
    """

    def __init__(self, iterable: Iterable[Any], deepcopy: bool = True) -> None:
        self.iterable, self.deepcopy = iterable, deepcopy

    def __iter__(self) -> Iterator[Any]:
        samples = self.iterable
        if self.deepcopy:
            try:
                samples = copy.deepcopy(samples)
            except TypeError:
                warnings.warn(
                    "The input iterable can not be deepcopied, please be aware of in-place "
                    "modification would affect source data.",
                    stacklevel=2,
                )
        yield from samples

    def __len__(self) -> int:
        return length_of(self, self.iterable)
