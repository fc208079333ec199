"""Memory that PyTorch sets for CUDA's libraries, and XLA for each program it compiles."""

from __future__ import annotations

from typing import NoReturn

from oneflow.cuda.devices import current_device, device_count
from oneflow.mock_torch.missing import raise_missing


class cuFFTPlanCache:
    """The plans of Fourier transforms on one GPU: XLA keeps each in its program.

    Args:
        device_index: the number of the GPU.

    Attributes:
        size: how many plans are kept outside of programs: 0.
        max_size: the most of them; programs may set it, without effect.
    """

    size = 0
    max_size = 0

    def __init__(self, device_index: int) -> None:
        self.device_index = device_index

    def clear(self) -> None:
        """Forget nothing: no plan is kept outside of programs."""


class cuFFTPlanCacheManager:
    """The plans of Fourier transforms on all GPUs; by itself it stands for the current GPU's."""

    def __getitem__(self, device: int) -> cuFFTPlanCache:
        """Return the plans of one GPU.

        Raises:
            RuntimeError: there is no such GPU.
        """
        count = device_count()
        if not 0 <= device < count:
            raise RuntimeError(
                f"cufft_plan_cache: expected 0 <= device index < {count}, but got device with "
                f"index {device}"
            )
        return cuFFTPlanCache(device)

    def _current(self) -> cuFFTPlanCache:
        return self[current_device() if device_count() else 0]

    @property
    def size(self) -> int:
        """The number of plans of the current GPU."""
        return self._current().size

    @property
    def max_size(self) -> int:
        """The largest number of plans of the current GPU."""
        return self._current().max_size

    def clear(self) -> None:
        """Forget the plans of the current GPU."""
        self._current().clear()


def cublas_workspace_size(size: int | None = None) -> NoReturn:
    """Refuse the size of memory that XLA gives each product."""
    raise_missing(
        "torch.backends.cuda.cublas_workspace_size", "XLA gives each product the memory it takes"
    )


cublaslt_workspace_size = blas_workspace_size = cublas_workspace_size
cufft_plan_cache = cuFFTPlanCacheManager()

__all__ = [
    "blas_workspace_size",
    "cuFFTPlanCache",
    "cuFFTPlanCacheManager",
    "cublas_workspace_size",
    "cublaslt_workspace_size",
    "cufft_plan_cache",
]
