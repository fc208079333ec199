"""Names of ``torch.cuda`` that choose a GPU for a while."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import oneflow as flow
from oneflow import Tensor
from oneflow.random.generator import default_generator


class device:
    """A context in which ``"cuda"`` means another GPU.

    Args:
        device: the GPU or its number; None or a negative number changes nothing.
    """

    def __init__(self, device: Any) -> None:
        index = device if isinstance(device, int) or device is None else flow.device(device).index
        self.idx = -1 if index is None else index
        self.prev_idx = -1

    def __enter__(self) -> None:
        if self.idx >= 0:
            self.prev_idx = flow.cuda.current_device()
            flow.cuda.set_device(self.idx)

    def __exit__(self, *exception: object) -> None:
        if self.idx >= 0:
            flow.cuda.set_device(self.prev_idx)


class device_of(device):
    """A context in which ``"cuda"`` means the GPU of a tensor; of other tensors nothing changes.

    Args:
        obj: the tensor.
    """

    def __init__(self, obj: Tensor) -> None:
        super().__init__(obj.device.index if obj.is_cuda else None)


def _lazy_call(callable: Callable[[], Any], **options: Any) -> None:
    """Call a function that needs GPUs at once, since GPUs are initialized at first use anyway."""
    callable()


def reset_max_memory_allocated(device: Any = None) -> None:
    """Do what `reset_peak_memory_stats` does, which resets all peaks."""
    _warn_of_peak_memory("reset_max_memory_allocated")
    flow.cuda.reset_peak_memory_stats(device)


def reset_max_memory_cached(device: Any = None) -> None:
    """Do what `reset_peak_memory_stats` does, which resets all peaks."""
    _warn_of_peak_memory("reset_max_memory_cached")
    flow.cuda.reset_peak_memory_stats(device)


def _warn_of_peak_memory(name: str) -> None:
    text = f"torch.cuda.{name} now calls torch.cuda.reset_peak_memory_stats"
    warnings.warn(f"{text}, which resets /all/ peak memory stats.", FutureWarning, stacklevel=3)


def get_arch_list() -> list[str]:
    """Return the architectures whose code this library brings: none, XLA compiles for the GPU."""
    return []


def __getattr__(name: str) -> Any:
    # Counting GPUs starts XLA, which importing this does not.
    if name == "default_generators":  # all devices draw from one
        return (default_generator,) * flow.cuda.device_count()
    raise AttributeError(name)
