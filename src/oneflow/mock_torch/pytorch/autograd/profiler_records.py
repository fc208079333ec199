"""Names of ``torch.autograd.profiler`` that count steps and look up records."""

from __future__ import annotations

import bisect
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, NoReturn

from oneflow.mock_torch.missing import raise_missing


class EnforceUnique:
    """Keys each of which may be seen once.

    Example:
        >>> from oneflow.mock_torch.pytorch.autograd.profiler_records import EnforceUnique
        >>> keys = EnforceUnique()
        >>> keys.see("a", 1)
        >>> keys.see("a", 1)
        Traceback (most recent call last):
        ...
        RuntimeError: duplicate key: ('a', 1)
    """

    def __init__(self) -> None:
        self.seen: set[tuple[Any, ...]] = set()

    def see(self, *key: Any) -> None:
        """Note a key.

        Raises:
            RuntimeError: it was seen before.
        """
        if key in self.seen:
            raise RuntimeError(f"duplicate key: {key}")
        self.seen.add(key)


class KinetoStepTracker:
    """Steps of training that several parts of a program count; the largest number holds.

    Example:
        >>> from oneflow.mock_torch.pytorch.autograd.profiler_records import KinetoStepTracker
        >>> KinetoStepTracker.init_step_count("loop")
        >>> KinetoStepTracker.increment_step("loop") == KinetoStepTracker.current_step()
        True
        >>> KinetoStepTracker.erase_step_count("loop")
        True
    """

    _current_step: ClassVar[int] = 0
    _step_dict: ClassVar[dict[str, int]] = defaultdict(int)

    @classmethod
    def init_step_count(cls, requester: str) -> None:
        """Let a part count from the current step on."""
        cls._step_dict[requester] = cls._current_step

    @classmethod
    def erase_step_count(cls, requester: str) -> bool:
        """Forget a part, and return whether it counted."""
        return cls._step_dict.pop(requester, None) is not None

    @classmethod
    def increment_step(cls, requester: str) -> int:
        """Count a step of a part, and return the current step."""
        if requester not in cls._step_dict:
            cls.init_step_count(requester)
        cls._step_dict[requester] += 1
        KinetoStepTracker._current_step = max(cls._current_step, *cls._step_dict.values())
        return cls._current_step

    @classmethod
    def current_step(cls) -> int:
        """Return the current step."""
        return cls._current_step


class MemRecordsAcc:
    """Records of memory, looked up by time.

    Args:
        mem_records: sequences that begin with something that has ``start_ns()``.
    """

    def __init__(self, mem_records: Sequence[Any]) -> None:
        self._records = sorted(mem_records, key=lambda record: record[0].start_ns())
        self._times = [record[0].start_ns() for record in self._records]

    def in_interval(self, start_ns: int, end_ns: int) -> Iterator[Any]:
        """Iterate over the records from one time to another, both inclusive."""
        first = bisect.bisect_left(self._times, start_ns)
        yield from self._records[first : bisect.bisect_right(self._times, end_ns)]


def parse_nvprof_trace(path: Any) -> NoReturn:
    """Refuse to read a trace of nvprof, which NVIDIA has given up.

    Raises:
        NotImplementedError: always.
    """
    raise_missing(
        "torch.autograd.profiler.load_nvprof",
        "traces of nvprof hold ranges of PyTorch's operators; `torch.profiler.profile` records "
        "those here",
    )


load_nvprof = parse_nvprof_trace
