"""The files of PyTorch's tests that are run, and fetching them."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

_REPOSITORY = "https://github.com/yakov-helm/pytorch_exp"
_COMMIT = "c5e2a7738220d39b8602869406a76e2787ac5c6b"
#: A git repository on this machine that has the commit, in place of the one on GitHub.
_MIRROR = "TORCH_TESTS_REPOSITORY"

#: Paths below the folder ``test`` of the repository.
FILES = (
    "test_autograd.py",
    "test_nn.py",
    "nn/test_convolution.py",
    "nn/test_dropout.py",
    "nn/test_embedding.py",
    "nn/test_init.py",
    "nn/test_lazy_modules.py",
    "nn/test_module_hooks.py",
    "nn/test_multihead_attention.py",
    "nn/test_packed_sequence.py",
    "nn/test_parametrization.py",
    "nn/test_pooling.py",
    "nn/test_pruning.py",
    "test_torch.py",
    "test_optim.py",
    "functorch/test_vmap.py",
    "functorch/test_eager_transforms.py",
    "test_stateless.py",
    "test_indexing.py",
    "test_shape_ops.py",
    "test_sort_and_select.py",
    "test_view_ops.py",
)

#: What these import.
_IMPORTED = ("test/autograd",)


def fetch(cache: Path) -> Path:
    """Write PyTorch's tests into the cache folder, unless they are there, and return where."""
    folder = cache / _COMMIT / "test"
    if folder.exists():
        return folder
    repository = os.environ.get(_MIRROR) or _fetch_commit(cache / "repository")
    paths = [*(f"test/{file}" for file in FILES), *_IMPORTED]
    archive = subprocess.run(
        ["git", "-C", repository, "archive", _COMMIT, "--", *paths], capture_output=True, check=True
    )
    partial = cache / f"{_COMMIT}.partial"
    partial.mkdir(parents=True, exist_ok=True)
    subprocess.run(["tar", "-x", "-C", str(partial)], input=archive.stdout, check=True)
    partial.rename(cache / _COMMIT)
    return folder


def _fetch_commit(repository: Path) -> str:
    """Fetch the commit without its files: `git archive` asks for those that it needs."""
    git = ["git", "-C", str(repository)]
    repository.mkdir(parents=True, exist_ok=True)
    subprocess.run([*git, "init", "--quiet", "--bare"], check=True)
    settings = {
        "remote.origin.url": _REPOSITORY,
        "remote.origin.promisor": "true",
        "remote.origin.partialclonefilter": "blob:none",
    }
    for name, value in settings.items():
        subprocess.run([*git, "config", name, value], check=True)
    fetch = ["fetch", "--quiet", "--depth", "1", "--filter=blob:none", "origin", _COMMIT]
    subprocess.run([*git, *fetch], check=True)
    return str(repository)
