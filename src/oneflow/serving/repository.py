"""The models that are served: loaded, found by name, exchanged while requests go on."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from oneflow.serving.daemon_thread import run_in_daemon_thread
from oneflow.serving.errors import ErrorKind, RequestError
from oneflow.serving.generator_version import GeneratorVersion, load_generator
from oneflow.serving.graph_version import GraphVersion, load_graph
from oneflow.serving.model_config import ConfigError, read_config, read_labels
from oneflow.serving.model_files import (
    Snapshot,
    model_snapshots,
    select_versions,
    version_files,
    version_paths,
)
from oneflow.serving.model_version import ModelVersion

logger = logging.getLogger("oneflow.serving")


class IndexEntry(NamedTuple):
    """A line of the repository's index: a model version, or a model without any.

    Attributes:
        name: the model.
        version: its number as text, or nothing.
        state: `READY` or `UNAVAILABLE`.
        reason: why it is unavailable, or the error of a newer version.
    """

    name: str
    version: str
    state: str
    reason: str


@dataclass
class _Model:
    """The state of a model.

    Attributes:
        versions: the served versions.
        files: the files of each when it was loaded.
        failures: the errors of versions, by number; of the whole model at 0.
        seen: the files of the model when it was last looked at.
        unload_requested: somebody has unloaded it.
        loading: loads it, or has loaded it, because its files had changed.
        lock: held while it is loaded.
    """

    versions: dict[int, ModelVersion] = field(default_factory=dict)
    files: dict[int, Snapshot] = field(default_factory=dict)
    failures: dict[int, str] = field(default_factory=dict)
    seen: Snapshot = ()
    unload_requested: bool = False
    loading: asyncio.Task[None] | None = None
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def is_loading(self) -> bool:
        """True if it is loaded just now."""
        return self.lock.locked() or (self.loading is not None and not self.loading.done())


class Repository:
    """The models of a folder.

    All methods belong to the thread of the event loop; loading happens on other threads, of several
    models side by side.

    Args:
        path: a saved graph, or a folder of models, see `oneflow.serving.model_files`.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._models: dict[str, _Model] = {}
        self._closing: set[asyncio.Task[None]] = set()
        self._is_listed = False  # which models there are
        self._is_closed = False

    # --- finding

    def find(self, name: str, version: str = "") -> ModelVersion:
        """Return a version of a model: the newest unless it is named.

        Raises:
            RequestError: there is none that is ready.
        """
        model = self._models.get(name)
        if not self._is_listed or (model and not model.versions and model.is_loading):
            raise RequestError(ErrorKind.SHUTDOWN, "models are being loaded; try again later")
        if model is None:
            raise RequestError(ErrorKind.NOT_FOUND, f"there is no model `{name}`")
        if not model.versions:
            reason = "; ".join(model.failures.values()) or "it was unloaded"
            raise RequestError(ErrorKind.SHUTDOWN, f"model `{name}` is not ready: {reason}")
        number = max(model.versions) if not version else int(version) if _is_number(version) else 0
        if number not in model.versions:
            raise RequestError(
                ErrorKind.NOT_FOUND,
                f"model `{name}` has no version {version}; served: {sorted(model.versions)}",
            )
        return model.versions[number]

    def versions(self, name: str = "", version: str = "") -> list[ModelVersion]:
        """Return the versions of all models, of one, or one version of it.

        Raises:
            RequestError: there is none of that name.
        """
        if version:
            return [self.find(name, version)]
        if name:
            self.find(name)
        return [
            version
            for model_name, model in sorted(self._models.items())
            if model_name == name or not name
            for _, version in sorted(model.versions.items())
        ]

    @property
    def is_ready(self) -> bool:
        """True if every model that nobody has unloaded can answer."""
        return self._is_listed and all(
            model.versions or model.unload_requested for model in self._models.values()
        )

    def index(self) -> Iterator[IndexEntry]:
        """The models and versions with their states."""
        for name, model in sorted(self._models.items()):
            for number in sorted(model.versions):
                yield IndexEntry(name, str(number), "READY", model.failures.get(number, ""))
            for number in sorted(model.failures.keys() - model.versions.keys()):
                yield IndexEntry(name, str(number or ""), "UNAVAILABLE", model.failures[number])
            if not model.versions and not model.failures:
                yield IndexEntry(name, "", "UNAVAILABLE", "unloaded")

    # --- loading

    async def load_all(self) -> None:
        """Load all models; returns when they are ready, or have failed.

        Raises:
            FileNotFoundError: the folder does not exist.
        """
        await self.update()
        await asyncio.gather(*[model.loading for model in self._models.values() if model.loading])

    async def update(self) -> None:
        """Begin to load new and changed models, unload the removed ones.

        Raises:
            FileNotFoundError: the folder does not exist.
        """
        snapshots = await run_in_daemon_thread(model_snapshots, self._path)
        if self._is_closed:
            return
        for name in self._models.keys() - snapshots.keys():
            model = self._models.pop(name)
            model.unload_requested = True
            self._close_versions(model.versions)
        for name, (folder, files) in snapshots.items():
            model = self._models.setdefault(name, _Model())
            # The next call sees the changes to a model that is being loaded.
            if files != model.seen and not model.is_loading:
                model.seen = files
                if not model.unload_requested:
                    model.loading = asyncio.create_task(self._load(name, model, folder))
        self._is_listed = True

    async def load(self, name: str) -> None:
        """Load a model that is not loaded, or whatever of it has changed.

        Raises:
            RequestError: there is no such model, or it cannot be loaded.
        """
        snapshots = await run_in_daemon_thread(model_snapshots, self._path)
        if name not in snapshots:
            raise RequestError(ErrorKind.NOT_FOUND, f"there is no model `{name}`")
        model = self._models.setdefault(name, _Model())
        model.unload_requested = False
        folder, model.seen = snapshots[name]
        await self._load(name, model, folder)
        if model.failures:
            reason = "; ".join(model.failures.values())
            raise RequestError(ErrorKind.INVALID, f"failed to load `{name}`: {reason}")

    async def unload(self, name: str) -> None:
        """Answer the requests that a model has, and take no more.

        Raises:
            RequestError: there is no such model.
        """
        model = self._models.get(name)
        if model is None:
            raise RequestError(ErrorKind.NOT_FOUND, f"there is no model `{name}`")
        model.unload_requested = True
        closing, model.versions, model.files, model.failures = model.versions, {}, {}, {}
        self._close_versions(closing)

    async def close(self, timeout: float) -> None:
        """Answer all requests in the queues, then end; models that still load are left.

        Args:
            timeout: the seconds after which runs that still go on are left, too.
        """
        self._is_closed = True
        for model in self._models.values():
            if model.loading is not None:
                model.loading.cancel()
            self._close_versions(model.versions)
            model.versions = {}
        if self._closing:
            await asyncio.wait(self._closing, timeout=timeout)

    async def _load(self, name: str, model: _Model, folder: Path) -> None:
        """Exchange the versions of a model at once, when all of the new ones are ready.

        One that cannot be loaded changes nothing: what is served stays.
        """
        async with model.lock:
            await self._exchange(name, model, folder)
        if model.unload_requested:  # meanwhile
            closing, model.versions, model.files = model.versions, {}, {}
            self._close_versions(closing)

    async def _exchange(self, name: str, model: _Model, folder: Path) -> None:
        failures: dict[int, str] = {}
        loaded: dict[int, ModelVersion] = {}
        reused: dict[int, ModelVersion] = {}
        files: dict[int, Snapshot] = {}
        try:
            config = await run_in_daemon_thread(read_config, folder)
            labels = await run_in_daemon_thread(read_labels, folder, config)
            versions = await run_in_daemon_thread(version_paths, folder)
            paths = select_versions(config, versions)
            if not paths:
                raise ConfigError(f"there is no version of a saved graph in `{folder}`")
            for number, path in paths.items():
                files[number] = await run_in_daemon_thread(version_files, folder, path)
                loaded_version = model.versions.get(number)
                if loaded_version is not None and model.files[number] == files[number]:
                    loaded[number] = reused[number] = loaded_version
                    continue
                try:
                    loaded[number] = await _load_version(path, name, number, config, labels)
                    logger.info("model loaded", extra={"model": name, "version": number})
                except Exception as error:
                    failures[number] = _reason(name, number, error)
        except Exception as error:
            failures[0] = _reason(name, 0, error)
        # A version that was taken over may have been unloaded while another one was loaded.
        loaded = {
            n: version
            for n, version in loaded.items()
            if n not in reused or model.versions.get(n) is version
        }
        model.failures = failures
        kept_versions = model.versions if failures else {}
        model.files = {**(model.files if failures else {}), **{n: files[n] for n in loaded}}
        replaced = {
            n: version for n, version in model.versions.items() if loaded.get(n) is not version
        }
        model.versions = {**kept_versions, **loaded}
        self._close_versions({n: e for n, e in replaced.items() if model.versions.get(n) is not e})

    def _close_versions(self, versions: dict[int, ModelVersion]) -> None:
        """Let versions that nobody finds any more answer their requests."""
        for version in versions.values():
            task = asyncio.create_task(version.close())
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)


async def _load_version(
    path: Path, name: str, number: int, config: Any, labels: Mapping[str, Sequence[str]]
) -> ModelVersion:
    """Load a version on another thread; it is ready when this returns."""
    if config.model_transaction_policy.decoupled:
        generator, complete = await run_in_daemon_thread(load_generator, path, name, config)
        return GeneratorVersion(name, number, complete, generator)
    graph, complete = await run_in_daemon_thread(load_graph, path, name, config)
    return GraphVersion(name, number, complete, graph, labels)


def _is_number(text: str) -> bool:
    return text.isdecimal() and len(text) < 20


def _reason(name: str, number: int, error: Exception) -> str:
    reason = f"{type(error).__name__}: {error}"
    details = {"model": name, "version": number, "reason": reason}
    logger.error("model not loaded", extra=details)
    return reason
