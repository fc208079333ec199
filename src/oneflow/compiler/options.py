"""XLA's compiler options, where its defaults are slow: for whole programs and single operations.

The options choose the order of instructions or the library that computes one, never the rounding
of numbers.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

import jax
from jax.sharding import SingleDeviceSharding

from oneflow.base.device import platform_devices
from oneflow.base.no_interrupt import run_without_interrupt
from oneflow.base.planning import is_planning, planning_devices
from oneflow.compiler.jit_function import JitFunction

# Compiler options of whole programs, by platform.
_PROGRAM_OPTIONS = {
    "tpu": {
        # A weight is replaced in place only if all that reads it runs before. In long programs XLA
        # does not order what no value orders, and copies the weight: a step of BERT on a v5e
        # copied half of them. This lets it order the update behind the last reader.
        "xla_tpu_copy_insertion_use_region_analysis": "true",
    }
}
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
# Compiler options of programs of hundreds of single numbers, by platform.
_SINGLE_NUMBER_OPTIONS = {
    "cpu": {
        # These emitters take 13 ms for a kernel, however small, the older ones 2. Where each number
        # has a place of its own, no two kernels are equal: a stack of 150 products with numbers
        # compiled for 2.1 s and compiles for 0.5, 150 elements that are added to for 6.7 and 1.9.
        # Kernels of large arrays are as soon compiled, and a softmax takes 0.75 of the time.
        "xla_cpu_use_fusion_emitters": "False",
    }
}
# Compiler options of programs on several devices, by platform.
_PLACEMENT_OPTIONS = {
    "cpu": {
        # Products are excepted: XLA leaves those of bfloat16 to YNN, turns one around afterwards in
        # a program on several devices, and then neither computes it ("Unsupported element type for
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


def compiler_options(
    platform: str,
    has_convolution: bool = False,
    is_global: bool = False,
    has_single_numbers: bool = False,
) -> dict[str, str]:
    """The options for compiling a whole program, as far as its compiler has them.

    Args:
        platform: the platform that it is compiled for.
        has_convolution: the program contains a convolution.
        is_global: it runs on several devices.
        has_single_numbers: most of it computes hundreds of single numbers.
    """
    options = dict(_PROGRAM_OPTIONS.get(platform, {}))
    if has_convolution:
        options |= _CONV_OPTIONS.get(platform, {})
    if is_global:
        options |= _PLACEMENT_OPTIONS.get(platform, {})
    if has_single_numbers:
        options |= _SINGLE_NUMBER_OPTIONS.get(platform, {})
    return _supported(options, platform)


def operation_options(platform: str) -> dict[str, str]:
    """The options for compiling a single operation, as far as its compiler has them.

    Args:
        platform: the platform that it is compiled for.
    """
    return _supported(_OPERATION_OPTIONS.get(platform, {}), platform)


def _supported(options: Mapping[str, str], platform: str) -> dict[str, str]:
    """The options that the compiler for a platform has."""
    if not options:
        return {}
    # A plan is compiled for the devices that it is made for, or for CPUs.
    devices = planning_devices() if is_planning() else platform_devices(platform)
    device = (devices or platform_devices("cpu"))[0]
    return {name: value for name, value in options.items() if _is_supported(name, value, device)}


@functools.cache
def _is_supported(name: str, value: str, device: Any) -> bool:
    """Return whether the compiler for a device of XLA's has an option with this value."""
    sharding = SingleDeviceSharding(device)
    options = {"out_shardings": sharding, "compiler_options": {name: value}}
    program = JitFunction(lambda: 0, (device,), **options)
    try:
        run_without_interrupt(program.compile)
    except jax.errors.JaxRuntimeError:
        return False
    return True
