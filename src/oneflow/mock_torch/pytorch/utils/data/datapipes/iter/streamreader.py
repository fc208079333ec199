"""Pipes of what streams hold."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from oneflow.data.datapipes import IterDataPipe, functional_datapipe


@functional_datapipe("read_from_stream")
class StreamReaderIterDataPipe(IterDataPipe):
    """The contents of streams, each with the stream's label.

    Args:
        datapipe: the source, of pairs of a label and a stream.
        chunk: read as many bytes, or characters, at a time; None: all.
    """

    def __init__(self, datapipe: Any, chunk: int | None = None) -> None:
        self.datapipe, self.chunk = datapipe, chunk

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        for label, stream in self.datapipe:
            while content := stream.read(self.chunk):
                yield label, content
            stream.close()
