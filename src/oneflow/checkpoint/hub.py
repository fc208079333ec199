"""Models from repositories: folders or GitHub repositories with a file `hubconf.py`.

Functions of that file are entry points: they make models. A file `dependencies` lists names of
packages that they need. Loading one runs its code: load only what you trust.
"""

from __future__ import annotations

import builtins
import contextlib
import errno
import importlib.util
import os
import sys
import tempfile
import warnings
import zipfile
from collections.abc import Callable, Iterator
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any

from oneflow.checkpoint.download import download_url_to_file, get_dir

MODULE_HUBCONF = "hubconf.py"
VAR_DEPENDENCY = "dependencies"

# Archives of a branch or tag.
_ARCHIVE_URL = "https://github.com/{owner}/{name}/archive/refs/heads/{ref}.zip"
_TRUST_LIST = "trusted_list"


def list(
    github: str,
    force_reload: bool = False,
    skip_validation: bool = False,
    trust_repo: bool | str | None = None,
) -> builtins.list[str]:
    """Return the names of a repository's entry points.

    Args:
        github: ``"owner/name"`` or ``"owner/name:branch"``, by default the branch `main`.
        force_reload: download it even if it is in the cache.
        skip_validation: accepted; a branch that does not exist is an error of the download.
        trust_repo: True trusts the repository from now on; ``"check"`` asks if it is not trusted
            yet, False always; None warns if it is not trusted yet.

    Raises:
        ConnectionError: it cannot be downloaded.
        ValueError: no such form of a name.

    Example:
        >>> import pathlib, tempfile
        >>> import oneflow as flow
        >>> cache = flow.hub.get_dir()
        >>> flow.hub.set_dir(tempfile.mkdtemp())
        >>> repository = pathlib.Path(flow.hub.get_dir(), "owner_networks_main")  # is downloaded
        >>> repository.mkdir()
        >>> count = (repository / "hubconf.py").write_text("def three(): return 3")
        >>> flow.hub.list("owner/networks", trust_repo=True)
        ['three']
        >>> flow.hub.set_dir(cache)
    """
    with _hubconf(_github_folder(github, force_reload, trust_repo)) as module:
        return [name for name in vars(module) if _is_entry_point(module, name)]


def help(
    github: str,
    model: str,
    force_reload: bool = False,
    skip_validation: bool = False,
    trust_repo: bool | str | None = None,
) -> str | None:
    r"""Return the docstring of an entry point; arguments as in `list` and `load`.

    Example:
        >>> import pathlib, tempfile
        >>> import oneflow as flow
        >>> cache = flow.hub.get_dir()
        >>> flow.hub.set_dir(tempfile.mkdtemp())
        >>> repository = pathlib.Path(flow.hub.get_dir(), "owner_networks_main")  # is downloaded
        >>> repository.mkdir()
        >>> code = "def three():\n    'Return three.'\n    return 3"
        >>> count = (repository / "hubconf.py").write_text(code)
        >>> flow.hub.help("owner/networks", "three", trust_repo=True)
        'Return three.'
        >>> flow.hub.set_dir(cache)
    """
    with _hubconf(_github_folder(github, force_reload, trust_repo)) as module:
        return _entry_point(module, model).__doc__


def load(
    repo_or_dir: str | os.PathLike[str],
    model: str,
    *args: Any,
    source: str = "github",
    trust_repo: bool | str | None = None,
    force_reload: bool = False,
    verbose: bool = True,
    skip_validation: bool = False,
    **kwargs: Any,
) -> Any:
    """Call an entry point of a repository, which usually returns a model.

    Args:
        repo_or_dir: a folder, or the name of a GitHub repository as in `list`.
        model: name of the entry point.
        args: arguments of the entry point.
        source: ``"github"`` or ``"local"``, a folder.
        trust_repo: the same as in `list`.
        force_reload: the same as in `list`.
        verbose: accepted; nothing is printed.
        skip_validation: the same as in `list`.
        kwargs: keyword arguments of the entry point.

    Returns:
        What the entry point returns.

    Raises:
        ValueError: an unknown source.
        FileNotFoundError: the repository has no `hubconf.py`.
        RuntimeError: it has no such entry point, or packages that it needs are missing.

    Example:
        >>> import oneflow as flow
        >>> import pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     code = "def three(): return 3"
        ...     count = pathlib.Path(folder, "hubconf.py").write_text(code)
        ...     print(flow.hub.load(folder, "three", source="local"))
        3
    """
    if source not in ("github", "local"):
        raise ValueError(f'Unknown source: "{source}". Allowed values: "github" | "local".')
    folder = Path(repo_or_dir)
    if source == "github":
        folder = _github_folder(str(repo_or_dir), force_reload, trust_repo)
    with _hubconf(folder) as module:
        return _entry_point(module, model)(*args, **kwargs)


@contextlib.contextmanager
def _hubconf(folder: Path) -> Iterator[ModuleType]:
    """The module `hubconf` of a repository; it can import modules beside it."""
    path = folder / MODULE_HUBCONF
    if not path.is_file():
        raise FileNotFoundError(f"{path}: a repository needs this file, which names its models")
    sys.path.insert(0, str(folder))
    try:
        loader = SourceFileLoader("hubconf", str(path))
        module = ModuleType("hubconf")
        module.__file__ = str(path)
        loader.exec_module(module)
        _check_dependencies(module)
        yield module
    finally:
        sys.path.remove(str(folder))


def _check_dependencies(module: ModuleType) -> None:
    names = getattr(module, VAR_DEPENDENCY, ())
    missing = [name for name in names if importlib.util.find_spec(name) is None]
    if missing:
        raise RuntimeError(f"Missing dependencies: {', '.join(missing)}; install them first")


def _is_entry_point(module: ModuleType, name: str) -> bool:
    return callable(getattr(module, name, None)) and not name.startswith("_")


def _entry_point(module: ModuleType, name: str) -> Callable[..., Any]:
    if not isinstance(name, str):
        raise ValueError(f"Invalid input: model should be a string of function name, got {name!r}")
    if not _is_entry_point(module, name):
        names = [key for key in vars(module) if _is_entry_point(module, key)]
        raise RuntimeError(f"Cannot find callable {name} in hubconf; it has {', '.join(names)}")
    return getattr(module, name)


def _github_folder(github: str, force_reload: bool, trust_repo: bool | str | None) -> Path:
    """The folder of a repository in the cache, downloaded if necessary."""
    repository, _, ref = github.partition(":")
    owner, _, name = repository.partition("/")
    if not (owner and name) or "/" in name:
        raise ValueError(f'`github` must be "owner/name" or "owner/name:branch", got {github!r}')
    ref = ref or "main"
    cache = Path(get_dir())
    _require_trust(cache, owner, name, trust_repo)
    folder = cache / f"{owner}_{name}_{ref.replace('/', '_')}"
    if folder.is_dir() and not force_reload:
        return folder
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache) as scratch:
        archive = Path(scratch) / "archive.zip"
        address = _ARCHIVE_URL.format(owner=owner, name=name, ref=ref)
        download_url_to_file(address, archive, progress=False)
        with zipfile.ZipFile(archive) as file:
            file.extractall(Path(scratch) / "content")
        (content,) = (Path(scratch) / "content").iterdir()
        _put(content, folder, Path(scratch) / "replaced")
    return folder


def _put(content: Path, folder: Path, replaced: Path) -> None:
    """Move `content` to `folder`, and the old content to `replaced`.

    If several processes do so at once, the first wins: the others have the same content.
    """
    with contextlib.suppress(FileNotFoundError):
        folder.rename(replaced)
    try:
        content.rename(folder)
    except OSError as error:
        if error.errno not in (errno.EEXIST, errno.ENOTEMPTY):
            raise


def _require_trust(cache: Path, owner: str, name: str, trust_repo: bool | str | None) -> None:
    """See that the user trusts a repository, whose code is about to run.

    Raises:
        ValueError: an unknown `trust_repo`.
        RuntimeError: the user says no.
    """
    if trust_repo not in (True, False, None, "check"):
        raise ValueError(f"`trust_repo` must be True, False, None or 'check', got {trust_repo!r}")
    path, key = cache / _TRUST_LIST, f"{owner}_{name}"
    trusted = path.read_text(encoding="utf-8").split() if path.is_file() else []
    if key in trusted and trust_repo is not False:
        return
    if trust_repo is None:
        warnings.warn(
            f"code of {owner}/{name} is about to run; if you trust it, say `trust_repo=True`",
            stacklevel=4,
        )
        return
    if trust_repo is not True:
        message = f"The repository {owner}_{name} does not belong to the list of trusted ones. "
        if input(f"{message}Do you trust it and wish to add it (y/N)? ").lower() not in (
            "y",
            "yes",
        ):
            raise RuntimeError(
                f"the repository {owner}/{name} is not trusted; `trust_repo=True` runs its code"
            )
    if key not in trusted:
        cache.mkdir(parents=True, exist_ok=True)
        # A line that is added at once keeps those that other processes add.
        with path.open("a", encoding="utf-8") as file:
            file.write(f"{key}\n")
