"""Settings of OneFlow's own NCCL runtime, for scripts that have them: XLA decides these things."""

from __future__ import annotations


def switch(val: bool = False) -> None:
    """Accepted: XLA itself fuses collective operations and chooses their streams.

    Args:
        val: True for on, False for off.

    Raises:
        TypeError: `val` is not a bool.

    Example:
        >>> import oneflow as flow
        >>> flow.boxing.nccl.enable_use_compute_stream(True)
    """
    if not isinstance(val, bool):
        raise TypeError(f"expected a bool, got {val!r}")


def number(val: int) -> None:
    """Accepted: XLA itself chooses how much to fuse, and how many streams there are.

    Args:
        val: the number.

    Raises:
        TypeError: `val` is not an int.

    Example:
        >>> import oneflow as flow
        >>> flow.boxing.nccl.set_fusion_threshold_mbytes(16)
    """
    if not isinstance(val, int) or isinstance(val, bool):
        raise TypeError(f"expected an int, got {val!r}")
