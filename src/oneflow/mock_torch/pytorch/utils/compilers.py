"""Names of ``torch.utils.cpp_extension`` that ask which compiler of C++ there is."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import tempfile
from pathlib import Path

_DEFAULT = "c++"


def get_cxx_compiler() -> str:
    """Return the compiler of C++: what the environment variable ``CXX`` names, or ``c++``."""
    return os.environ.get("CXX", "cl" if platform.system() == "Windows" else _DEFAULT)


def get_default_build_root() -> str:
    """Return the folder in which extensions would be built."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    root = tempfile.gettempdir() if platform.system() == "Windows" else cache
    return os.path.realpath(Path(root) / "torch_extensions")


def is_ninja_available() -> bool:
    """Return whether ``ninja`` runs."""
    return shutil.which("ninja") is not None and not _run("ninja", "--version").returncode


def verify_ninja_availability() -> None:
    """Raise an error unless ``ninja`` runs.

    Raises:
        RuntimeError: it does not.
    """
    if not is_ninja_available():
        raise RuntimeError("Ninja is required to load C++ extensions (pip install ninja to get it)")


def check_compiler_is_gcc(compiler: str) -> bool:
    """Return whether a compiler is GCC, on Linux."""
    path = shutil.which(compiler)
    if platform.system() != "Linux" or path is None:
        return False
    text = _run(path, "-v").stderr
    return "gcc version" in text


def check_compiler_ok_for_platform(compiler: str) -> bool:
    """Return whether a compiler is the one for extensions on this system."""
    path = shutil.which(compiler)
    if path is None:
        return False
    if platform.system() == "Windows":
        return True
    if platform.system() == "Darwin":
        return "clang" in Path(os.path.realpath(path)).name
    return any(name in Path(os.path.realpath(path)).name for name in ("g++", "gcc", "c++", "clang"))


def get_compiler_abi_compatibility_and_version(compiler: str) -> tuple[bool, tuple[int, ...]]:
    """Return whether a compiler is new enough for extensions, and its version.

    Args:
        compiler: its name.
    """
    if not check_compiler_ok_for_platform(compiler):
        return False, (0, 0, 0)
    text = _run(compiler, "-dumpfullversion", "-dumpversion").stdout.strip()
    version = tuple(int(part) for part in text.split(".") if part.isdigit())
    return version >= (5, 0, 0), version or (0, 0, 0)


def remove_extension_h_precompiler_headers() -> None:
    """Remove nothing: no headers are compiled ahead."""


def _run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, check=False)


__all__ = [
    "check_compiler_is_gcc",
    "check_compiler_ok_for_platform",
    "get_compiler_abi_compatibility_and_version",
    "get_cxx_compiler",
    "get_default_build_root",
    "is_ninja_available",
    "remove_extension_h_precompiler_headers",
    "verify_ninja_availability",
]
