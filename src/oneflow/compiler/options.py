"""XLA's compiler options, where its defaults are slow: for whole programs and single operations.

The options choose the order of instructions or the library that computes one, never the rounding
of numbers.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping

import jax

from oneflow.base.device import PREPARE_PROCESS
from oneflow.base.no_interrupt import run_without_interrupt

# Compiler options of programs with convolutions, by platform.
_CONV_OPTIONS = {
    "cpu": {
        # Their instructions share all cores, one after the other; the order that needs the least
        # memory is then the fastest too. Elsewhere it can cost memory: a checkpointed chain of
        # products took 3.3 MB with it and 0.9 MB without.
        "xla_cpu_scheduler_type": "CPU_SCHEDULER_TYPE_MEMORY_OPTIMIZED",
        # Everything but convolutions without padding, for which XNNPACK uses one core only: 2.6 ms
        # against 1.2 ms for 16 to 32 channels at 14 by 14.
        "xla_cpu_experimental_ynn_fusion_type": (
            "LIBRARY_FUSION_TYPE_INDIVIDUAL_DOT,LIBRARY_FUSION_TYPE_REDUCE"
        ),
    }
}
# Compiler options of programs on several devices, by platform.
_PLACEMENT_OPTIONS = {
    "cpu": {
        # Not for products: XLA leaves those of bfloat16 to YNN, turns one around afterwards in a
        # program on several devices, and then neither computes it ("Unsupported element type for
        # DotThunk"). Others take the same time.
        "xla_cpu_experimental_ynn_fusion_type": "LIBRARY_FUSION_TYPE_REDUCE",
    }
}
# Compiler options of single operations, by platform.
_OPERATION_OPTIONS = {
    "cuda": {
        # XLA tries several kernels of a product or a convolution, on the GPU, one after the other:
        # the first training step of a LeNet took 20 s with that, and 4 s with the kernel that is
        # its first choice. Whole programs, which run often, are compiled with it.
        "xla_gpu_autotune_level": "0",
    }
}


@functools.cache
def compiler_options(
    platform: str, has_convolution: bool = False, is_global: bool = False
) -> dict[str, str]:
    """The options for compiling a whole program, as far as this version of XLA has them.

    Args:
        platform: the platform that it is compiled for.
        has_convolution: the program contains a convolution.
        is_global: it runs on several devices.
    """
    options = dict(_CONV_OPTIONS.get(platform, {})) if has_convolution else {}
    if is_global:
        options |= _PLACEMENT_OPTIONS.get(platform, {})
    return _supported(options)


@functools.cache
def operation_options(platform: str) -> dict[str, str]:
    """The options for compiling a single operation, as far as this version of XLA has them.

    Args:
        platform: the platform that it is compiled for.
    """
    return _supported(_OPERATION_OPTIONS.get(platform, {}))


def _supported(options: Mapping[str, str]) -> dict[str, str]:
    """The options that this version of XLA has."""
    return {name: value for name, value in options.items() if _is_supported(name, value)}


@functools.cache
def _is_supported(name: str, value: str) -> bool:
    """Return whether this version of XLA has an option with this value."""
    PREPARE_PROCESS.value()
    try:
        program = jax.jit(lambda: 0, compiler_options={name: value})
        run_without_interrupt(lambda: program.lower().compile())
    except jax.errors.JaxRuntimeError:
        return False
    return True
