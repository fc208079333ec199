"""The module that reads OneRec files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from oneflow.base.placement import Placement
from oneflow.data.readers.onerec_batches import onerec_source
from oneflow.data.readers.records import ShuffleOptions
from oneflow.data.readers.tensor_buffer import TensorBuffer
from oneflow.nn.modules.dataset import BatchReader
from oneflow.tensor.batch_sharding import batch_sharding_of


class OneRecReader(BatchReader):
    """Batches of records from OneRec files, without end.

    Args:
        files: paths of the files. Devices that share batches have files of their own.
        batch_size: records of a batch, of all devices together.
        shuffle: draw at random from the next `shuffle_buffer_size` records or batches.
        shuffle_mode: "instance" for records, "batch" for batches.
        random_seed: where random numbers start; None takes it from `oneflow.manual_seed`.
        shuffle_buffer_size: number of records or batches to draw from.
        shuffle_after_epoch: take the files in another order after the first epoch.
        verify_example: whether each message must have the identifier of OneRec. Checksums are
            always compared.
        placement: the placement of decoded tensors that are global.
        sbp: the SBP of global ones: broadcast, or split along dimension 0.

    Raises:
        FileNotFoundError: a file is missing.
        ImportError: a package of the extra `onerec` is missing.
        ValueError: the devices cannot share the batch or the files; or, when a batch is read, a
            file is damaged.

    Example:
        >>> import tempfile
        >>> import oneflow as flow
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with flow.data.OneRecWriter(f"{folder}/a.onerec") as file:
        ...         file.write({"labels": [7]})
        ...     reader = flow.nn.OneRecReader([f"{folder}/a.onerec"], 2, False, "instance")
        ...     flow.decode_onerec(reader(), "labels", flow.int64, (1,)).tolist()
        [[7], [7]]
    """

    def __init__(
        self,
        files: Sequence[str | os.PathLike[str]],
        batch_size: int,
        shuffle: bool,
        shuffle_mode: str,
        random_seed: int | None = None,
        shuffle_buffer_size: int = 1024,
        shuffle_after_epoch: bool = False,
        verify_example: bool = True,
        placement: Placement | None = None,
        sbp: Any = None,
    ) -> None:
        shuffle_options = ShuffleOptions(
            shuffle_buffer_size if shuffle else None, shuffle_after_epoch, random_seed
        )
        sharding = batch_sharding_of(None, placement, sbp)
        super().__init__(
            onerec_source(
                files, batch_size, shuffle_mode, shuffle_options, verify_example, sharding
            )
        )

    def forward(self) -> TensorBuffer:
        """Return the next batch."""
        return self.source.next_batch()
