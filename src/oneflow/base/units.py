"""Numbers with units, as people read them."""

from __future__ import annotations

import math


def bytes_text(size: float) -> str:
    """Return a number of bytes as text, such as ``1.50 MiB``."""
    return _scaled(size, 1024, ("B", "KiB", "MiB", "GiB", "TiB", "PiB"))


def flops_text(count: float) -> str:
    """Return a number of floating point operations as text, such as ``12.5 GFLOP``."""
    return _scaled(count, 1000, ("FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP", "PFLOP", "EFLOP"))


def seconds_text(seconds: float) -> str:
    """Return a time as text, such as ``1.50 ms``."""
    return _scaled(seconds * 1e9, 1000, ("ns", "us", "ms", "s"))


def _scaled(number: float, base: int, units: tuple[str, ...]) -> str:
    power = min(int(math.log(number, base)) if number >= 1 else 0, len(units) - 1)
    scaled = number / base**power
    digits = 0 if power == 0 or scaled >= 100 else 1 if scaled >= 10 else 2
    return f"{scaled:.{digits}f} {units[power]}"
