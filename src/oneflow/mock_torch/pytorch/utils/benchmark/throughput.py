"""``ThroughputBenchmark``: the time of a module's calls from several threads at once."""

from __future__ import annotations

import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from oneflow.mock_torch.pytorch.utils.benchmark.measurement import select_unit


@dataclass
class BenchmarkConfig:
    """The number of calls.

    Attributes:
        num_calling_threads: threads that call.
        num_worker_threads: must be 1, as in PyTorch.
        num_warmup_iters: calls of each thread that are not timed.
        num_iters: calls of all threads that are.
        profiler_output_path: must be empty.
    """

    num_calling_threads: int = 1
    num_worker_threads: int = 1
    num_warmup_iters: int = 1
    num_iters: int = 100
    profiler_output_path: str = ""


@dataclass(frozen=True)
class BenchmarkExecutionStats:
    """The times of calls.

    Attributes:
        latency_avg_ms: of one call, in milliseconds.
        num_iters: how many were timed.
    """

    latency_avg_ms: float
    num_iters: int


class ModuleBenchmark:
    """A module and the arguments with which it is called, one of them at random each time.

    Args:
        module: what is called.
    """

    def __init__(self, module: Any) -> None:
        self._module = module
        self._inputs: list[tuple[tuple[Any, ...], dict[str, Any]]] = []

    def add_input(self, *args: Any, **kwargs: Any) -> None:
        """Add the arguments of one call."""
        self._inputs.append((args, kwargs))

    def run_once(self, *args: Any, **kwargs: Any) -> Any:
        """Call the module with these arguments."""
        return self._module(*args, **kwargs)

    def benchmark(self, config: BenchmarkConfig) -> BenchmarkExecutionStats:
        """Call the module so often, and return the times.

        Args:
            config: how often.

        Raises:
            RuntimeError: no arguments were added, or a setting is not 1 or not empty.
        """
        if not self._inputs:
            raise RuntimeError("Please provide benchmark inputs: call `add_input` first")
        if config.num_worker_threads != 1 or config.profiler_output_path:
            raise RuntimeError(
                "`num_worker_threads` must be 1 and `profiler_output_path` empty, got "
                f"{config.num_worker_threads} and {config.profiler_output_path!r}"
            )
        threads = config.num_calling_threads
        start = threading.Barrier(threads)
        shares = [
            config.num_iters // threads + (number < config.num_iters % threads)
            for number in range(threads)
        ]

        def calls(share: int) -> float:
            draw = random.Random(share)
            for _ in range(config.num_warmup_iters):
                self._call(draw)
            start.wait()
            begin = time.perf_counter()
            for _ in range(share):
                self._call(draw)
            return time.perf_counter() - begin

        with ThreadPoolExecutor(threads) as pool:
            seconds = sum(pool.map(calls, shares))
        return BenchmarkExecutionStats(1e3 * seconds / max(config.num_iters, 1), config.num_iters)

    def _call(self, draw: random.Random) -> None:
        args, kwargs = draw.choice(self._inputs)
        self._module(*args, **kwargs)


@dataclass(frozen=True)
class ExecutionStats:
    """The times of calls, as `ThroughputBenchmark` gives them.

    Attributes:
        latency_avg_ms: of one call, in milliseconds.
        num_iters: how many were timed.
        benchmark_config: how they were made.
    """

    latency_avg_ms: float
    num_iters: int
    benchmark_config: BenchmarkConfig

    @property
    def iters_per_second(self) -> float:
        """The number of calls in a second, of all threads."""
        return self.num_iters / self.total_time_seconds

    @property
    def total_time_seconds(self) -> float:
        """The time of all calls."""
        calls = self.num_iters / self.benchmark_config.num_calling_threads
        return self.latency_avg_ms / 1e3 * calls

    def __str__(self) -> str:
        unit, scale = select_unit(self.latency_avg_ms / 1e3)
        total_unit, total_scale = select_unit(self.total_time_seconds)
        return "\n".join(
            (
                f"Average latency per example: {self.latency_avg_ms / 1e3 / scale:.3f}{unit}",
                f"Total number of iterations: {self.num_iters}",
                f"Total number of iterations per second (across all threads): "
                f"{self.iters_per_second:.2f}",
                f"Total time: {self.total_time_seconds / total_scale:.3f}{total_unit}",
            )
        )


class ThroughputBenchmark:
    """The time of a module's calls from several threads at once.

    Args:
        module: what is called.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.mock_torch.pytorch.utils.benchmark.throughput import ThroughputBenchmark
        >>> bench = ThroughputBenchmark(flow.nn.Linear(2, 2))
        >>> bench.add_input(flow.ones(2))
        >>> bench.benchmark(num_calling_threads=2, num_warmup_iters=1, num_iters=4).num_iters
        4
    """

    def __init__(self, module: Any) -> None:
        self._benchmark = ModuleBenchmark(module)

    def run_once(self, *args: Any, **kwargs: Any) -> Any:
        """Call the module with these arguments."""
        return self._benchmark.run_once(*args, **kwargs)

    def add_input(self, *args: Any, **kwargs: Any) -> None:
        """Add the arguments of one call."""
        self._benchmark.add_input(*args, **kwargs)

    def benchmark(
        self,
        num_calling_threads: int = 1,
        num_warmup_iters: int = 10,
        num_iters: int = 100,
        profiler_output_path: str = "",
    ) -> ExecutionStats:
        """Call the module so often, and return the times.

        Args:
            num_calling_threads: threads that call.
            num_warmup_iters: calls of each thread that are not timed.
            num_iters: calls of all threads that are.
            profiler_output_path: must be empty.
        """
        config = BenchmarkConfig(
            num_calling_threads, 1, num_warmup_iters, num_iters, profiler_output_path
        )
        stats = self._benchmark.benchmark(config)
        return ExecutionStats(stats.latency_avg_ms, stats.num_iters, config)
