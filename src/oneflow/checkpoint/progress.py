"""Progress bars of saving and loading large files, on terminals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneflow.base import cluster

if TYPE_CHECKING:
    from tqdm import tqdm

_MIN_BYTES = 2**30


def progress_bar(label: str, unit: str, total: int, size: int) -> tqdm:
    """A bar that shows itself on a terminal, in rank 0, if there is enough to do.

    Args:
        label: what is being done.
        unit: what is counted; ``"B"`` counts bytes.
        total: how many there are.
        size: bytes that are moved.
    """
    from tqdm import tqdm  # noqa: PLC0415 - few programs show a bar

    # `disable=None` shows the bar on terminals only.
    hidden = None if size >= _MIN_BYTES and cluster.rank() == 0 else True
    return tqdm(desc=label, unit=unit, total=total, disable=hidden, unit_scale=unit == "B")
