"""Names of ``torch.distributed.checkpoint.format_utils``: a checkpoint as one file, and back."""

from __future__ import annotations

import os
from pathlib import Path

from oneflow.checkpoint import serialization, torch_writer


def dcp_to_torch_save(
    dcp_checkpoint_dir: str | os.PathLike[str], torch_save_path: str | os.PathLike[str]
) -> None:
    """Write the checkpoint of a folder to a file of PyTorch's, with whole tensors."""
    torch_writer.save(
        serialization.load(dcp_checkpoint_dir, map_location="cpu"), Path(torch_save_path)
    )


def torch_save_to_dcp(
    torch_save_path: str | os.PathLike[str], dcp_checkpoint_dir: str | os.PathLike[str]
) -> None:
    """Write a file that `torch.save` or this package wrote as a checkpoint in a folder."""
    folder = Path(dcp_checkpoint_dir)
    folder.mkdir(parents=True, exist_ok=True)
    serialization.save(serialization.load(torch_save_path, map_location="cpu"), folder)


__all__ = ["dcp_to_torch_save", "torch_save_to_dcp"]
