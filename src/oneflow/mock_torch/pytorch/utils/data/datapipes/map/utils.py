"""Pipes of any sequence."""

from __future__ import annotations

import copy
import warnings
from typing import Any

from oneflow.data.datapipes import MapDataPipe


class SequenceWrapperMapDataPipe(MapDataPipe):
    """The samples of a sequence or a dictionary.

    Args:
        sequence: the sequence.
        deepcopy: take a copy, so that what changes samples in place does not change the sequence.
    """

    def __init__(self, sequence: Any, deepcopy: bool = True) -> None:
        if deepcopy:
            try:
                sequence = copy.deepcopy(sequence)
            except TypeError:
                warnings.warn(
                    "The input sequence can not be deepcopied, please be aware of in-place "
                    "modification would affect source data",
                    stacklevel=2,
                )
        self.sequence = sequence

    def __getitem__(self, index: Any) -> Any:
        return self.sequence[index]

    def __len__(self) -> int:
        return len(self.sequence)
