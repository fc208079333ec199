"""The names of the settings that tune the process, and the switch that turns them off."""

from __future__ import annotations

import enum

from oneflow.base import environment


class Setting(enum.StrEnum):
    """A setting that tunes the process; `docs/tuning.md` says what each does and gains."""

    ALLOCATOR = "allocator"
    FREE_LISTS = "free_lists"
    THREAD_CACHE = "thread_cache"
    SEQUENTIAL_RUNS = "sequential_runs"
    COLD_EXECUTABLES = "cold_executables"
    SWITCH_INTERVAL = "switch_interval"
    BLAS_THREADS = "blas_threads"
    FULL_COLLECTIONS = "full_collections"


def is_on(setting: Setting) -> bool:
    """Return whether the user has left a setting on.

    Raises:
        ValueError: `ONEFLOW_TUNING_OFF` names an unknown setting.
    """
    named = set(filter(None, map(str.strip, environment.TUNING_OFF.read().split(","))))
    unknown = named - {"all", *Setting}
    if unknown:
        raise ValueError(
            f"{environment.TUNING_OFF.name} names {', '.join(sorted(unknown))}; "
            f"expected `all` or some of {', '.join(Setting)}"
        )
    if setting in (Setting.ALLOCATOR, Setting.FREE_LISTS) and environment.KEEP_HEAP.read() == "0":
        return False
    return not named & {"all", setting}
