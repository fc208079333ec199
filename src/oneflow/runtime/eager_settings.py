"""The settings of eager mode."""

from __future__ import annotations

import threading

from oneflow.base import environment
from oneflow.runtime.background import COMPILER

_settings_lock = threading.RLock()


class EagerSettings:
    """Settings of the virtual machine.

    Read from the environment at import, changeable at run time.

    Attributes:
        by_operator: run even hot programs operator by operator, as a profiler wants it.

    Example:
        >>> import oneflow as flow
        >>> flow.eager.settings.mode
        'deferred'
    """

    # A misspelled setting is an error.
    __slots__ = (
        "_inference",
        "_limit",
        "_mode",
        "by_operator",
        "explain",
        "hot_after",
        "slow_path_at",
    )

    def __init__(self) -> None:
        self._inference = 0  # threads in inference mode
        self.mode = environment.EAGER.read()
        self.by_operator = False
        self.hot_after = environment.EAGER_HOT_AFTER.read_int()
        self.background = environment.EAGER_BACKGROUND.read() == "1"
        self.explain = environment.EAGER_EXPLAIN.read() == "1"

    @property
    def mode(self) -> str:
        """`deferred`, `compiled` or `immediate`, see `oneflow.base.environment.EAGER`."""
        return self._mode

    @mode.setter
    def mode(self, mode: str) -> None:
        if mode not in ("deferred", "compiled", "immediate"):
            raise ValueError(
                f"{environment.EAGER.name}={mode!r}: expected `deferred`, `compiled` or `immediate`"
            )
        self._mode = mode
        self.limit = 1 if mode == "immediate" else environment.EAGER_TRACE_LIMIT.read_int()

    @property
    def background(self) -> bool:
        """Return True if programs compile on a background thread."""
        return COMPILER.is_enabled

    @background.setter
    def background(self, background: bool) -> None:
        COMPILER.is_enabled = background

    @property
    def limit(self) -> int:
        """Recorded values after which a recorder is flushed."""
        return self._limit

    @limit.setter
    def limit(self, limit: int) -> None:
        self._limit = limit
        self._update()

    def count_inference(self, change: int) -> None:
        """Note that threads have entered inference mode, or left it (negative)."""
        with _settings_lock:
            self._inference += change
            self._update()

    def _update(self) -> None:
        # Recorded values after which dispatch has more to do than to record.
        self.slow_path_at = 0 if self._inference else self._limit


SETTINGS = EagerSettings()
