"""Progress bars of saving and loading: on terminals, for what is large."""

from __future__ import annotations

from tqdm import tqdm

from oneflow.base import cluster

_SHOWN_FROM = 2**30


def progress_bar(verb: str, unit: str, total: int, size: int) -> tqdm:
    """A bar that shows itself on a terminal, in rank 0, if there is enough to do.

    Args:
        verb: what is being done.
        unit: what is counted; ``"B"`` counts bytes.
        total: how many there are.
        size: bytes that are moved.
    """
    # `disable=None` shows the bar on terminals only.
    hidden = None if size >= _SHOWN_FROM and cluster.rank() == 0 else True
    return tqdm(desc=verb, unit=unit, total=total, disable=hidden, unit_scale=unit == "B")
