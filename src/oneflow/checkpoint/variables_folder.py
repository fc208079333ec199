"""Snapshots of job functions: a folder per variable, as OneFlow 0.3 to 0.6 wrote them.

The folder of a variable has its numbers (`out`) and their shape and dtype (`meta`); the file
`snapshot_done` says that all variables are there. OneFlow's first format, which
`oneflow.config.enable_legacy_model_io` chose later, has no `meta`.
"""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

from oneflow.base.hook import Hook
from oneflow.checkpoint.oneflow_folder import DATA, DTYPES, META, load, load_like
from oneflow.tensor.tensor import Tensor

DONE = "snapshot_done"
_NAMES = {dtype: name for name, dtype in reversed(DTYPES.items())}
# The variables of all job functions.
SESSION_VARIABLES: Hook[Callable[[], dict[str, Tensor]]] = Hook(
    "SESSION_VARIABLES", "oneflow.legacy.session"
)


def save(path: str | os.PathLike[str], var_dict: Mapping[str, Tensor] | None = None) -> None:
    """Write variables to a folder that does not exist yet; it appears when all of it is on disk.

    Args:
        path: the folder.
        var_dict: the variables by name; by default those of all job functions.

    Raises:
        FileExistsError: the folder exists and is not empty.
        FileNotFoundError: the folder around it does not exist.
        ValueError: a name cannot be that of a folder.

    Example:
        >>> import tempfile
        >>> import oneflow as flow
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     flow.checkpoint.save(f"{folder}/snapshot", {"w": flow.ones(2)})
        ...     flow.checkpoint.get(f"{folder}/snapshot")
        {'w': tensor([1., 1.], dtype=oneflow.float32)}
    """
    target = Path(path)
    variables = SESSION_VARIABLES.value() if var_dict is None else var_dict
    for name in variables:
        if not name or "/" in name or "\0" in name or name in (".", "..", DONE):
            raise ValueError(f"variable `{name}` cannot be the name of a folder")
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise FileExistsError(f"cannot save variables to `{target}`: it exists and is not empty")
    partial = target.with_name(f"{target.name}.{secrets.token_hex(8)}.partial")
    try:
        partial.mkdir(parents=True)
        for name, variable in variables.items():
            _write(partial / name, variable)
        _write_file(partial / DONE, b"")
        partial.rename(target)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def get(path: str | os.PathLike[str]) -> dict[str, Tensor]:
    """Read the variables in a folder.

    Raises:
        FileNotFoundError: there is no such folder.
        RuntimeError: it is damaged.
    """
    return load(_existing(path), lambda device: device)


def get_like(path: str | os.PathLike[str], variables: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Read the variables that are both in `variables` and in the folder.

    Their shapes and dtypes are taken for numbers that are written without.

    Raises:
        FileNotFoundError: there is no such folder.
        RuntimeError: it is damaged.
    """
    return load_like(_existing(path), variables)


def _existing(path: str | os.PathLike[str]) -> Path:
    folder = Path(path)
    if not folder.is_dir():
        raise FileNotFoundError(f"there is no snapshot at `{folder}`")
    return folder


def _write(folder: Path, variable: Tensor) -> None:
    numbers = variable.detach().numpy()
    folder.mkdir()
    dims = "".join(f"  dim: {size}\n" for size in numbers.shape)
    meta = f"shape {{\n{dims}}}\ndata_type: {_NAMES[variable.dtype]}\n"
    _write_file(folder / META, meta.encode())
    _write_file(folder / DATA, numbers.tobytes())


def _write_file(path: Path, content: bytes) -> None:
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
