"""Seeing what the eager virtual machine does: statistics, recorded programs, settings."""

from oneflow.functional.recording import record as record, synchronize as synchronize
from oneflow.program.printer import format_program as format_program
from oneflow.runtime.cache_misses import explain_last_miss as explain_last_miss
from oneflow.runtime.counters import EagerStatistics as EagerStatistics, statistics as statistics
from oneflow.runtime.eager_settings import SETTINGS as settings

__all__ = [
    "EagerStatistics",
    "explain_last_miss",
    "format_program",
    "record",
    "settings",
    "statistics",
    "synchronize",
]
