"""Executables as portable bytes: StableHLO with JAX's own wrapping."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Sequence
from operator import mul
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import export

from oneflow.base.device import DEVICE_TYPES, Device
from oneflow.base.no_interrupt import run_without_interrupt
from oneflow.base.placement import Placement
from oneflow.base.spec import TensorSpec
from oneflow.compiler.jit_function import JitFunction
from oneflow.compiler.loaded_executable import LoadedExecutable, check_largest_array
from oneflow.compiler.lower import Executable, wrap_integer
from oneflow.compiler.options import compiler_options
from oneflow.compiler.sharding import abstract_array, committed_to, shardings, xla_devices
from oneflow.tuning.linux import FREE_LISTS

# The native functions that saved programs may call: decompositions of matrices, fused attention
# (that of TPUs is a program for the TPU alone), and shardings of arrays on several devices. Others,
# such as calls of Python functions, get an address from a file.
_LAPACK = "geev|geqrf|gesdd|getrf|heevd|orgqr|potrf|syevd|trsm|ungqr"
_CUSOLVER = "geqrf|gesvd|gesvdj|getrf|orgqr|potrf|syevd"
_CALLED = (
    rf"lapack_[sdcz]({_LAPACK})_ffi|cusolver_({_CUSOLVER})_ffi|cu_lu_pivots_to_permutation"
    r"|__cudnn\$fmha\w+|tpu_custom_call"
    "|Eigh|LuDecomposition|ProductOfElementaryHouseholderReflectors|Qr"
    "|Sharding|SPMDFullToShardShape|SPMDShardToFullShape"
)
# Operations by which a program talks to anybody else.
_OUTSIDE = r"\bstablehlo\.(infeed|outfeed|send|recv)\b"


def _check_calls(text: str) -> None:
    """Make sure that a program in StableHLO calls nothing but what this package's programs call.

    Raises:
        RuntimeError: it does; names it.
    """
    # However a call is printed: what does not look like a known one is refused.
    called = re.findall(r'custom_call\b"?\s*@?"?([^\s("]*)', text) + re.findall(_OUTSIDE, text)
    unknown = [name for name in called if not re.fullmatch(_CALLED, name)]
    if unknown:
        raise RuntimeError(
            f"a program calls `{unknown[0]}`, which is none of the native functions that saved "
            "graphs may call"
        )


def to_bytes(executable: Executable) -> bytes:
    """A program that can be run where this package's primitives are not known.

    Raises:
        RuntimeError: the package `flatbuffers` is missing, or the program calls native functions
            that no saved program may call.
    """
    inputs = executable.abstract_inputs()
    # A run of a saved program comes behind no check.
    flags = [inputs.pop()] if executable.guarded else []

    def portable(*arguments: Any) -> list[Any]:
        zeros = [jnp.zeros(flag.shape, flag.dtype) for flag in flags]
        outputs, results = executable.sorted_results(executable.function(*arguments, *zeros))
        return outputs if results is None else [*outputs, results.rows]

    exported = run_without_interrupt(
        lambda: export.export(jax.jit(portable), platforms=[_platform(executable.device)])(*inputs)
    )
    _check_calls(exported.mlir_module())
    try:
        return bytes(exported.serialize())
    except ImportError as error:
        raise RuntimeError(
            "saving a graph needs the package `flatbuffers`: pip install oneflow-xla[serving]"
        ) from error


class ImportedProgram:
    """A program made by `to_bytes`, ready to run.

    Args:
        content: the bytes.
        device: where it runs; a placement has as many devices as it was saved for.
        inputs: what its arrays are.
        counts: the numbers of floats and integers that it takes.
        outputs: what it returns; None for the table of run-time checks.
        has_convolution: the executable's.

    Raises:
        RuntimeError: the bytes are damaged, were saved for another kind of device or for other
            arrays, or call native functions that no saved program may call.
    """

    def __init__(
        self,
        content: bytes,
        device: Device | Placement,
        inputs: Sequence[TensorSpec],
        counts: tuple[int, int],
        outputs: Sequence[TensorSpec | None],
        has_convolution: bool,
    ) -> None:
        self._exported, text = _deserialize(content)
        _check_calls(text)
        _check_arrays(self._exported, inputs, counts, outputs)
        self._device = device
        is_global = isinstance(device, Placement)
        # On a placement the text has whole arrays, which no device holds.
        self._largest = 0 if is_global else _largest_array(text)
        if _platform(device) not in self._exported.platforms:
            raise RuntimeError(
                f"the program was saved for {', '.join(self._exported.platforms)}, and is to run "
                f"on `{device}`"
            )
        self._waits = is_global and device.type == "cpu"
        self._donated: tuple[int, ...] = ()
        self._options: dict[str, Any] = {
            "compiler_options": compiler_options(device.type, has_convolution, is_global),
            **committed_to(device),
        }
        if isinstance(device, Placement):
            arguments = [*inputs, *[None] * sum(map(bool, counts))]
            sharded = shardings(arguments, outputs, device)
            self._options["in_shardings"], self._options["out_shardings"] = sharded

    def donate(self, inputs: Sequence[int]) -> None:
        """Donate some inputs: runs write outputs over them, and nobody may read them afterwards.

        Args:
            inputs: their indices; called before the first run.
        """
        self._donated = tuple(inputs)

    @functools.cached_property
    def _loaded(self) -> LoadedExecutable:
        """The program, compiled by the first call: a graph may be saved for many shapes."""
        check_largest_array(self._device, self._largest)
        devices = xla_devices(self._device)
        function = JitFunction(
            self._exported.call, devices, donate_argnums=self._donated, **self._options
        )
        try:
            lowered = run_without_interrupt(lambda: function.lower(*self._exported.in_avals))
        except ValueError as error:
            raise RuntimeError(f"the saved program is damaged ({error})") from error
        compiled = run_without_interrupt(lambda: function.compile_lowered(lowered))
        FREE_LISTS.trim()
        return LoadedExecutable(compiled, self._device)

    def __call__(
        self, arrays: Sequence[Any], floats: Sequence[float], integers: Sequence[int]
    ) -> list[Any]:
        """The outputs; the last is the table of run-time checks if the program has any."""
        vectors: list[np.ndarray] = []
        if floats:
            vectors.append(np.array(floats, np.float64))
        if integers:
            vectors.append(np.array(list(map(wrap_integer, integers)), np.int64))
        returned: list = []
        self._loaded((*arrays, *vectors), returned)
        outputs = list(returned[0])
        # As in `Executable`: programs of several devices of one CPU share its threads.
        return jax.block_until_ready(outputs) if self._waits else outputs


def _platform(device: Device | Placement) -> str:
    """The name of a device's platform in JAX."""
    return DEVICE_TYPES[device.type].platform


def _largest_array(text: str) -> int:
    """The bytes of the largest array in the text of a program."""
    types = re.findall(r"tensor<((?:\d+x)+)(?:complex<)?[a-z]+(\d+)", text)
    elements = [math.prod(map(int, sizes[:-1].split("x"))) for sizes, _ in types]
    widths = [max(int(bits) // 8, 1) for _, bits in types]
    return max(map(mul, elements, widths), default=0)


def _deserialize(content: bytes) -> tuple[export.Exported, str]:
    """A program, and its text in StableHLO."""
    try:
        exported = export.deserialize(bytearray(content))
        return exported, exported.mlir_module()
    except ImportError as error:
        raise RuntimeError(
            "loading a graph needs the package `flatbuffers`: pip install oneflow-xla[serving]"
        ) from error
    except Exception as error:
        raise RuntimeError(f"the saved program is damaged ({error})") from error


def _check_arrays(
    exported: export.Exported,
    inputs: Sequence[TensorSpec],
    counts: tuple[int, int],
    outputs: Sequence[TensorSpec | None],
) -> None:
    """Make sure that a program takes and returns what its description says."""
    numbers = [((n,), kind) for n, kind in zip(counts, ("float64", "int64"), strict=True) if n]
    arrays = [_form(abstract_array(spec)) for spec in inputs]
    expected = [None if spec is None else _form(abstract_array(spec)) for spec in outputs]
    results = list(map(_form, exported.out_avals))
    if (
        list(map(_form, exported.in_avals)) != [*arrays, *numbers]
        or len(results) != len(expected)
        or any(m not in (None, result) for m, result in zip(expected, results, strict=True))
    ):
        raise RuntimeError("the saved program does not fit its description")


def _form(array: Any) -> tuple[tuple[int, ...], str]:
    return tuple(array.shape), np.dtype(array.dtype).name
