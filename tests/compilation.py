"""The options with which XLA compiles programs of tests: as for users, or sooner.

Most programs of tests run once, and optimizing them takes longer than all else that the tests do.
So it is left out, but for tests whose subject is what XLA makes of programs, for those of what has
changed, and for some of the other files. With ``--exhaustive`` everything is compiled as for users.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import jax
from jax._src import compiler

from oneflow.compiler.executable_cache import EXECUTABLES
from oneflow.runtime import block_functions
from tests.sampling import Sample

# Tests whose programs are always compiled as for users: these folders, and files of laws.
OPTIMIZED = (
    "compiler/",
    "interpreter/",
    "laws/test_accuracy.py",
    "laws/test_complex_special_values.py",
    "laws/test_modules_in_graphs.py",
    "laws/test_operators.py",
    "laws/test_operators_in_graphs.py",
    "laws/test_random_programs.py",
    "opdb/",
    "passes/",
    "primitives/",
    "random/",
)
# One in so many of the other files is.
OPTIMIZED_ONE_IN = 16

# Without the options a training step of a small network takes twice as long to compile, and without
# the extra option again twice as long.
_OPTIONS = {"xla_backend_optimization_level": "0", "xla_cpu_parallel_codegen_split_count": "1"}
_EXTRA_OPTION = "xla_cpu_disable_new_fusion_emitters"
_FAST_FLAGS = [
    *(f"--{name}={value}" for name, value in _OPTIONS.items()),
    f"--xla_backend_extra_options={_EXTRA_OPTION}",
]
_USER_FLAGS = os.environ.get("XLA_FLAGS", "")


def is_optimized(file: Path, sample: Sample) -> bool:
    """Return True if XLA optimizes the programs of this file of tests."""
    name = file.relative_to(Path(__file__).parent).as_posix()
    return name.startswith(OPTIMIZED) or sample.includes(f"optimized {name}", OPTIMIZED_ONE_IN)


class Compilation:
    """The way in which XLA compiles from now on, here and in processes that tests start.

    Attributes:
        is_optimized: with all optimizations, as for users.
    """

    is_optimized = True

    @classmethod
    def choose(cls, is_optimized: bool) -> None:
        """Compile everything anew this way."""
        if cls.is_optimized == is_optimized:
            return
        cls.is_optimized = is_optimized
        os.environ["XLA_FLAGS"] = " ".join([_USER_FLAGS, *([] if is_optimized else _FAST_FLAGS)])
        release_compiled()


def release_compiled() -> None:
    """Clear JAX's caches, and release our executables."""
    EXECUTABLES.evict(list(EXECUTABLES))
    block_functions._function.cache_clear()
    jax.clear_caches()


def _field(number: int, content: bytes) -> bytes:
    """A field of a protocol buffer, of less than 128 bytes."""
    tag = number << 3 | 2
    return bytes([tag & 127 | 128, tag >> 7, len(content)]) + content


# The entry of a map within the options of a program, which JAX cannot set by name:
# xla.CompileOptionsProto.executable_build_options.debug_options.xla_backend_extra_options.
_EXTRA_OPTIONS = _field(
    3, _field(3, _field(500, _field(1, _EXTRA_OPTION.encode()) + _field(2, b"")))
)

_get_compile_options = compiler.get_compile_options
# XLA reads its flags once in a process: now, before `Compilation` changes those of other processes.
_get_compile_options(1, 1)


def get_compile_options(*arguments: Any, **keywords: Any) -> Any:
    """JAX's options for a program, with those of `Compilation`."""
    options = _get_compile_options(*arguments, **keywords)
    if Compilation.is_optimized:
        return options
    options.env_option_overrides = [*options.env_option_overrides, *_OPTIONS.items()]
    return type(options).ParseFromString(options.SerializeAsString() + _EXTRA_OPTIONS)


compiler.get_compile_options = get_compile_options
