"""Pipes of what files mean."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from oneflow.data.datapipes import IterDataPipe, functional_datapipe
from oneflow.mock_torch.pytorch.utils.data.datapipes.bases import length_of
from oneflow.mock_torch.pytorch.utils.data.datapipes.utils.decoder import (
    Decoder,
    basichandlers,
    extension_extract_fn,
    imagehandler,
)


@functional_datapipe("routed_decode")
class RoutedDecoderIterDataPipe(IterDataPipe):
    """The contents of files by the first handler that knows them, each with the file's name.

    Args:
        datapipe: the source, of pairs of a name and a binary stream.
        handlers: functions of a key and the content that return None for what they do not know; by
            default for texts, numbers, JSON, pickles, tensors and images.
        key_fn: makes a key of a name.
    """

    def __init__(
        self,
        datapipe: Iterable[tuple[str, Any]],
        *handlers: Callable[[str, Any], Any],
        key_fn: Callable[[str], str] = extension_extract_fn,
    ) -> None:
        self.datapipe = datapipe
        self.decoder = Decoder(*(handlers or (basichandlers, imagehandler("torch"))), key_fn=key_fn)
        warnings.warn(
            "`RoutedDecoderIterDataPipe()` and its functional API `.routed_decode()` are "
            "deprecated since 1.12 and will be removed in 1.13.",
            FutureWarning,
            stacklevel=2,
        )

    def add_handler(self, *handler: Callable[[str, Any], Any]) -> None:
        """Ask handlers before those that there are."""
        self.decoder.add_handler(*handler)

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        for data in self.datapipe:
            yield data[0], self.decoder(data)[data[0]]

    def __len__(self) -> int:
        return length_of(self, self.datapipe)
