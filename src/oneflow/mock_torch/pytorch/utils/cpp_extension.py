"""``torch.utils.cpp_extension``: extensions in C++ are written against PyTorch's own library."""

from __future__ import annotations

from typing import Any, NoReturn

from oneflow.mock_torch.missing import raise_missing
from oneflow.mock_torch.pytorch.utils.compilers import (
    check_compiler_is_gcc,
    check_compiler_ok_for_platform,
    get_compiler_abi_compatibility_and_version,
    get_cxx_compiler,
    get_default_build_root,
    is_ninja_available,
    remove_extension_h_precompiler_headers,
    verify_ninja_availability,
)

_REASON = (
    "extensions in C++ and CUDA need PyTorch's headers and tensors in its memory; most libraries "
    "have a way without theirs, and `torch.library.custom_op` takes operators in Python"
)
CUDA_HOME = ROCM_HOME = None
IS_HIP_EXTENSION = False


def load(*args: Any, **kwargs: Any) -> NoReturn:
    """Refuse to compile an extension.

    Raises:
        NotImplementedError: always.
    """
    raise_missing("torch.utils.cpp_extension", _REASON)


load_inline = CppExtension = CUDAExtension = SyclExtension = load
include_paths = library_paths = load


class BuildExtension:
    """The command of setuptools that would compile extensions."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        load()

    with_options = staticmethod(load)


__all__ = [
    "CUDA_HOME",
    "IS_HIP_EXTENSION",
    "ROCM_HOME",
    "BuildExtension",
    "CUDAExtension",
    "CppExtension",
    "SyclExtension",
    "check_compiler_is_gcc",
    "check_compiler_ok_for_platform",
    "get_compiler_abi_compatibility_and_version",
    "get_cxx_compiler",
    "get_default_build_root",
    "include_paths",
    "is_ninja_available",
    "library_paths",
    "load",
    "load_inline",
    "remove_extension_h_precompiler_headers",
    "verify_ninja_availability",
]
