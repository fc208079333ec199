"""Names that ``torch.cuda`` has beside `oneflow.cuda`: streams and waits that the caller makes."""

from __future__ import annotations

from typing import Any, NoReturn

from oneflow.cuda.streams import Stream
from oneflow.mock_torch.missing import Missing, raise_missing

_REASON = "each device has one stream, and XLA orders programs by what they read"


class ExternalStream(Missing):
    """The type of streams of other libraries."""

    _reason = _REASON


class GreenContext(Missing):
    """The type of parts of a GPU's multiprocessors."""

    _reason = "XLA runs kernels on all multiprocessors of a GPU"


def get_stream_from_external(data_ptr: int, device: Any = None) -> NoReturn:
    """Refuse a stream of another library."""
    raise_missing("torch.cuda.get_stream_from_external", _REASON)


def set_stream(stream: Stream) -> None:
    """Make a stream the current one, which it is: a device has one."""


def set_sync_debug_mode(debug_mode: int | str) -> None:
    """Say nothing of waits for a GPU: ``"default"`` or 0.

    Raises:
        NotImplementedError: they are to be warnings or errors.
        RuntimeError: there is no such mode.
    """
    names = ("default", "warn", "error")
    if debug_mode not in (*names, 0, 1, 2):
        raise RuntimeError(
            f"invalid value of debug_mode, expected one of {', '.join(names)}, got {debug_mode!r}"
        )
    if debug_mode not in ("default", 0):
        raise_missing(
            f"torch.cuda.set_sync_debug_mode({debug_mode!r})",
            "`oneflow.eager.statistics().waiting_seconds` says how long reads have waited",
        )


def get_sync_debug_mode() -> int:
    """Return 0: nothing is said of waits for a GPU."""
    return 0


def current_blas_handle() -> NoReturn:
    """Refuse the handle of a library that XLA calls."""
    raise_missing("torch.cuda.current_blas_handle", "XLA calls the libraries of a GPU")


def current_solver_handle() -> NoReturn:
    """Refuse the handle of a library that XLA calls."""
    raise_missing("torch.cuda.current_solver_handle", "XLA calls the libraries of a GPU")


def ipc_collect() -> None:
    """Free nothing: processes do not share the memory of GPUs."""


def can_device_access_peer(device: Any, peer_device: Any) -> NoReturn:
    """Refuse to say if a GPU reads another's memory: XLA copies as it can."""
    raise_missing("torch.cuda.can_device_access_peer", "`x.to(device)` copies between GPUs")


__all__ = [
    "ExternalStream",
    "GreenContext",
    "can_device_access_peer",
    "current_blas_handle",
    "current_solver_handle",
    "get_stream_from_external",
    "get_sync_debug_mode",
    "ipc_collect",
    "set_stream",
    "set_sync_debug_mode",
]
