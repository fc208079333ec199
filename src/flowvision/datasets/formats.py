"""Files that other packages read: MATLAB's, HDF5, LMDB, and images by accimage."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any


def read_matlab(path: str | Path, squeeze: bool = False) -> dict[str, Any]:
    """Return the variables of a MATLAB file.

    Args:
        path: the file.
        squeeze: leave out dimensions of size 1.

    Raises:
        RuntimeError: SciPy is missing.
        OSError: the file is damaged; says which.
    """
    reader = import_package("scipy.io", "scipy")
    try:
        return reader.loadmat(path, squeeze_me=squeeze)
    except FileNotFoundError:
        raise
    except Exception as error:  # SciPy's reader fails in many ways
        raise OSError(f"cannot read the MATLAB file `{path}`: {error}") from error


def open_hdf5(path: str | Path) -> Any:
    """Return an HDF5 file, opened for reading.

    Raises:
        RuntimeError: h5py is missing.
    """
    return import_package("h5py", "h5py").File(path, "r")


def open_lmdb(path: str | Path) -> Any:
    """Return an LMDB environment, opened for reading.

    Raises:
        RuntimeError: lmdb is missing.
    """
    return import_package("lmdb", "lmdb").open(
        str(path), max_readers=1, readonly=True, lock=False, readahead=False, meminit=False
    )


def import_package(module: str, name: str) -> Any:
    """Return a module of a package that is not one of our dependencies.

    Raises:
        RuntimeError: the package is missing.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise RuntimeError(
            f"reading these files needs the package {name}: pip install {name}"
        ) from error
