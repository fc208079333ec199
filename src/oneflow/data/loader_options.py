"""Options of loaders that must go together."""

from __future__ import annotations

from typing import Any

from oneflow.data.datapipes import IterDataPipe
from oneflow.data.pipe_graph import apply_shuffle_settings


def check_workers(
    num_workers: int, timeout: float, prefetch_factor: int, persistent_workers: bool
) -> None:
    """Check the options of workers.

    Raises:
        ValueError: they do not go together.
    """
    if num_workers < 0:
        raise ValueError(f"`num_workers` must not be negative, got {num_workers}")
    if timeout < 0:
        raise ValueError(f"`timeout` must not be negative, got {timeout}")
    if prefetch_factor < 1:
        raise ValueError(f"`prefetch_factor` must be at least 1, got {prefetch_factor}")
    if persistent_workers and num_workers == 0:
        raise ValueError("persistent_workers option needs num_workers > 0")


def prepare_stream(
    dataset: Any, shuffle: bool | None, sampler: Any, batch_sampler: Any
) -> tuple[Any, bool | None]:
    """Check the options of a stream, and let pipes shuffle or not.

    Returns:
        The stream, and what is left of `shuffle`.

    Raises:
        ValueError: the options are for data sets with positions.
    """
    if isinstance(dataset, IterDataPipe):
        dataset, shuffle = apply_shuffle_settings(dataset, shuffle), None
    for name, option in (
        ("shuffle", shuffle),
        ("sampler", sampler),
        ("batch_sampler", batch_sampler),
    ):
        if option not in (None, False):
            raise ValueError(
                f"DataLoader with IterableDataset: expected unspecified {name} option, but got "
                f"{name}={option}"
            )
    return dataset, shuffle
