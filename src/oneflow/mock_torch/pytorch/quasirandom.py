"""``torch.quasirandom``: points that fill a cube evenly."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy.stats import qmc

import oneflow as flow

_BITS = 30  # of a coordinate
_NUMBERS = 1 << 62  # more than any count of random bits


class SobolEngine:
    """Sobol's sequence in a cube, by the direction numbers of Joe and Kuo.

    Args:
        dimension: the number of coordinates.
        scramble: shuffle the digits at random (Owen's scrambling), which keeps the points even.
        seed: the seed of that shuffling; by default drawn from the generator of random numbers.

    Raises:
        ValueError: there are no direction numbers of so many dimensions.

    Example:
        >>> from oneflow import mock_torch
        >>> with mock_torch.enable():
        ...     import torch
        >>> torch.quasirandom.SobolEngine(2).draw(3).tolist()
        [[0.0, 0.0], [0.5, 0.5], [0.75, 0.25]]
    """

    MAXBIT = _BITS
    MAXDIM = qmc.Sobol.MAXDIM

    def __init__(self, dimension: int, scramble: bool = False, seed: int | None = None) -> None:
        if not 1 <= dimension <= self.MAXDIM:
            raise ValueError(f"`dimension` must be between 1 and {self.MAXDIM}, got {dimension}")
        if scramble and seed is None:
            seed = int(flow.randint(0, _NUMBERS, (1,)).item())
        self.dimension, self.scramble, self.seed = dimension, scramble, seed
        self.num_generated = 0
        # SciPy 1.14 has it by this name; later ones take it, too.
        options: Any = {"seed": seed}
        self._points = qmc.Sobol(dimension, scramble=scramble, bits=_BITS, **options)

    def draw(self, n: int = 1, out: flow.Tensor | None = None, dtype: Any = None) -> flow.Tensor:
        """Return the next points, a row each.

        Args:
            n: how many.
            out: a tensor to write them to.
            dtype: the dtype of the result, by default the default dtype.
        """
        with warnings.catch_warnings():
            # SciPy wants a power of two; `draw_base2` is for those who do.
            warnings.simplefilter("ignore", UserWarning)
            points = self._points.random(n) if n else np.empty((0, self.dimension))
        self.num_generated += n
        kind = dtype or (flow.get_default_dtype() if out is None else out.dtype)
        result = flow.tensor(points, dtype=kind)
        return result if out is None else out.resize_(result.shape).copy_(result)

    def draw_base2(self, m: int, out: flow.Tensor | None = None, dtype: Any = None) -> flow.Tensor:
        """Return the next ``2 ** m`` points, after which the number of all is a power of two.

        Raises:
            ValueError: it would not be.
        """
        total = self.num_generated + 2**m
        if total & (total - 1):
            raise ValueError(
                f"`m`: the number of all points must be a power of two, got {self.num_generated} "
                f"and {2**m} more; `reset()` begins again"
            )
        return self.draw(2**m, out, dtype)

    def reset(self) -> SobolEngine:
        """Begin again with the first point."""
        self._points.reset()
        self.num_generated = 0
        return self

    def fast_forward(self, n: int) -> SobolEngine:
        """Leave out the next `n` points."""
        if n:
            self._points.fast_forward(n)
        self.num_generated += n
        return self

    def __repr__(self) -> str:
        options = [f"dimension={self.dimension}"]
        if self.scramble:
            options.append("scramble=True")
        if self.seed is not None:
            options.append(f"seed={self.seed}")
        return f"{type(self).__name__}({', '.join(options)})"


__all__ = ["SobolEngine"]
