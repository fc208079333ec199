"""Modules of a folder, as they are or with PyTorch's names in place of OneFlow's."""

from __future__ import annotations

import importlib
import re
import sys
from importlib.machinery import FileFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

import torch

# Names that the repository asks of OneFlow alone: graphs, integers as masks, the softmax of the
# last dimension, padding with zeros, and draws from a bell that is cut off.
_torch: Any = torch
_tensor, _pad, _softmax = _torch.Tensor, torch.nn.ConstantPad2d, torch.softmax
_fill, _fill_in_place = _tensor.masked_fill, _tensor.masked_fill_
_tensor.trunc_normal_ = torch.nn.init.trunc_normal_
_torch.nn.Graph = torch.nn.Module
_torch.nn.ConstantPad2d = lambda padding, value=0.0: _pad(padding, value)
_tensor.masked_fill = lambda x, mask, value: _fill(x, mask.bool(), value)
_tensor.masked_fill_ = lambda x, mask, value: _fill_in_place(x, mask.bool(), value)
_tensor.softmax = _torch.softmax = lambda x, dim=-1: _softmax(x, dim)


def load(folder: str, name: str, with_torch: bool = False) -> ModuleType:
    """Import a module of a folder, and what it imports from there.

    Args:
        folder: stands first among the folders that modules are imported from.
        name: the module, as programs in the folder import it.
        with_torch: read the files with PyTorch's names.
    """
    path = Path(folder).resolve()
    _forget_modules()
    hooks, paths = list(sys.path_hooks), list(sys.path)
    # Some folders read files of their neighbours.
    sys.path[:0] = [str(path), str(path.parent)]
    if with_torch:
        sys.path_hooks.insert(0, FileFinder.path_hook((_TorchLoader, [".py"])))
    sys.path_importer_cache.clear()
    try:
        return importlib.import_module(name)
    finally:
        sys.path_hooks[:], sys.path[:] = hooks, paths
        sys.path_importer_cache.clear()


def with_torch_names(text: str) -> str:
    """The text of a file in which PyTorch is imported in place of OneFlow."""
    text = re.sub(r"(?m)^(\s*)import oneflow$", r"\1import torch as oneflow", text)
    text = re.sub(r"(?m)^(\s*(?:import|from) )oneflow", r"\1torch", text)
    return text.replace(".zeros_()", ".zero_()")  # OneFlow has both


class _TorchLoader(SourceFileLoader):
    """Loads the files of the repository with PyTorch's names, and others as they are."""

    def get_code(self, fullname: str) -> CodeType | None:
        if not _is_ours(self.path):
            return super().get_code(fullname)
        # Compiled files hold the text with OneFlow's names.
        return compile(with_torch_names(Path(self.path).read_text()), self.path, "exec")


def _is_ours(path: str | None) -> bool:
    return path is not None and Path(path).resolve().is_relative_to(Path.cwd())


def _forget_modules() -> None:
    """Forget modules of the repository: folders have some of one name, and libraries differ."""
    forgotten = []
    for name, module in list(sys.modules.items()):
        names = vars(module)  # attributes of some are made when they are asked for
        places = [names.get("__file__"), *names.get("__path__", ())]
        if name != "__main__" and any(map(_is_ours, places)):
            forgotten.append(name)
    for name in forgotten:  # the folders of packages are looked up in those around them
        del sys.modules[name]
