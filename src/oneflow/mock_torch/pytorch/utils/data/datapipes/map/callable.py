"""Pipes that call a function with each sample."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from oneflow.data.datapipes import MapDataPipe, functional_datapipe
from oneflow.mock_torch.pytorch.utils.data.datapipes.utils.common import _check_unpickable_fn


def default_fn(data: Any) -> Any:
    """Return a sample as it is."""
    return data


@functional_datapipe("map")
class MapperMapDataPipe(MapDataPipe):
    """Results of a function for each sample.

    Args:
        datapipe: the source.
        fn: the function.
    """

    def __init__(self, datapipe: Any, fn: Callable[[Any], Any] = default_fn) -> None:
        _check_unpickable_fn(fn)
        self.datapipe, self.fn = datapipe, fn

    def __len__(self) -> int:
        return len(self.datapipe)

    def __getitem__(self, index: Any) -> Any:
        return self.fn(self.datapipe[index])
