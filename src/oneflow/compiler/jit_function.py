"""Functions that JAX jits, whose compiled programs every process of a job finds again on disk.

JAX writes its persistent cache in process 0 alone. The names of its entries say nothing of devices
on GPUs, which devices a program is for on TPUs, and on CPUs which process it is for as well. So
what other processes compile would be compiled anew in each start. They keep it in files of their
own, in JAX's folder and under JAX's settings. A folder is trusted as JAX trusts it: to load a
compiled program is to run it.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib.metadata
import os
import platform
import re
import tempfile
import threading
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import jax
from jax.experimental import serialize_executable

from oneflow.base import cluster
from oneflow.compiler.persistent_cache import available_cores

# The first bytes of a file; another layout has others.
_MAGIC = b"flowprg1"
_DIGEST_BYTES = 32
# A Python function that a program calls has an address in this process alone.
_CALLBACK = re.compile(r"custom_call\b\"?\s*@?\"?\w*callback")
# Environment variables that hold options of XLA's compilers.
_FLAGS = ("XLA_FLAGS", "LIBTPU_INIT_ARGS")


class JitFunction:
    """A function that JAX jits for some devices.

    Called with arrays, it is compiled for their shapes and dtypes in the first call.

    Args:
        function: a function of arrays.
        devices: XLA's devices on which it runs, in the order of the mesh.
        options: options of `jax.jit`.
    """

    def __init__(self, function: Callable, devices: Iterable[Any], **options: Any) -> None:
        self._devices = tuple(devices)
        self._has_files = not _is_written_by_jax(self._devices)
        self._compiler_options = options.get("compiler_options")
        # Arguments that JAX leaves out of a program are not seen in its text.
        self._function = jax.jit(function, keep_unused=self._has_files, **options)
        self._programs: dict[tuple, Any] = {}

    def lower(self, *types: Any) -> Any:
        """Trace and lower it for arguments like these, as `jax.jit(...).lower`."""
        return self._function.lower(*types)

    def compile(self, *types: Any) -> Any:
        """Compile it for arguments like these, or load what this process has compiled before."""
        return self.compile_lowered(self.lower(*types))

    def compile_lowered(self, lowered: Any) -> Any:
        """Compile what `lower` has returned, as `compile`."""
        folder = _folder() if self._has_files else None
        text = "" if folder is None else lowered.as_text()
        if folder is None or _CALLBACK.search(text):
            return lowered.compile()
        name = _name(lowered, text, self._devices, self._compiler_options)
        file = _ProgramFile(folder, name)
        return file.load(lowered, self._devices) or _compile(lowered, file)

    def __call__(self, *arrays: Any) -> Any:
        """Run it."""
        if not self._has_files:
            return self._function(*arrays)
        key = tuple([(array.shape, array.dtype) for array in arrays])
        program = self._programs.get(key)
        if program is None:
            program = self._programs[key] = self.compile(*arrays)
        return program(*arrays)


def _is_written_by_jax(devices: Sequence[Any]) -> bool:
    """Return whether process 0 writes the compiled program for this process."""
    if not cluster.is_multiprocess() or cluster.rank() == 0:
        return True
    if devices[0].platform == "cpu":
        return False
    # An equal program of process 0 for another GPU is found by JAX, and then is not stored again.
    return any(device.process_index == 0 for device in devices)


def _folder() -> Path | None:
    """The folder of JAX's persistent cache; None where it is not used, is bounded or far away."""
    config: Any = jax.config
    folder = config.jax_compilation_cache_dir
    # JAX deletes entries to keep a bound, and knows its own only.
    is_bounded = config.jax_compilation_cache_max_size != -1
    if not folder or not config.jax_enable_compilation_cache or is_bounded or "://" in folder:
        return None
    return Path(folder)


def _name(lowered: Any, text: str, devices: Sequence[Any], options: Any) -> str:
    """The name of a program's file, which another program, process or machine does not have."""
    parts = (
        text,
        lowered.args_info,
        lowered.out_tree,
        [(device.id, device.process_index, device.device_kind) for device in devices],
        (cluster.rank(), cluster.world_size(), jax.device_count()),
        devices[0].client.platform_version,
        sorted((options or {}).items()),
        sorted(jax.config.values.items()),
        [os.environ.get(name) for name in _FLAGS],
        _versions(),
        (available_cores(), platform.machine(), _processor()),
    )
    digest = hashlib.sha256()
    for part in parts:
        content = str(part).encode()
        digest.update(len(content).to_bytes(8, "little") + content)
    return digest.hexdigest()


@functools.cache
def _versions() -> list[str]:
    return [importlib.metadata.version(package) for package in ("jax", "jaxlib")]


@functools.cache
def _processor() -> str:
    """The instructions of this machine's processor, as far as the system tells."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith(("flags", "Features")):
                return line
    return platform.processor()


def _compile(lowered: Any, file: _ProgramFile) -> Any:
    """Compile a program and store it, if that takes as long as JAX's settings ask for."""
    start = time.monotonic()
    with _cache_hits() as hits:
        compiled = lowered.compile()
    seconds = time.monotonic() - start
    config: Any = jax.config
    # A program that JAX has found it will find again; on CPUs a loaded one is stored in part.
    if not hits and seconds >= config.jax_persistent_cache_min_compile_time_secs:
        file.store(compiled)
    return compiled


@contextlib.contextmanager
def _cache_hits() -> Iterator[list[str]]:
    """Context manager: a list that gets an event for each program that JAX finds on this thread."""
    thread = threading.get_ident()
    hits: list[str] = []

    def listen(event: str, **_: Any) -> None:
        if event == "/jax/compilation_cache/cache_hits" and threading.get_ident() == thread:
            hits.append(event)

    jax.monitoring.register_event_listener(listen)
    try:
        yield hits
    finally:
        jax.monitoring.unregister_event_listener(listen)


class _ProgramFile:
    """The file of a compiled program: a digest, then JAX's serialized executable, compressed.

    Args:
        folder: where it lies.
        name: the name of the program; no other process writes a file of this name.
    """

    def __init__(self, folder: Path, name: str) -> None:
        self._path = folder / f"{name}.program"

    def load(self, lowered: Any, devices: Sequence[Any]) -> Any:
        """Load the program; None if there is none, or the file is damaged or another's."""
        with contextlib.suppress(OSError):
            content = self._path.read_bytes()
            head = len(_MAGIC) + _DIGEST_BYTES
            body = content[head:]
            if content[:head] != _MAGIC + self._digest(body):
                return None
            # XLA raises errors of several kinds for a program that it cannot load.
            with contextlib.suppress(Exception):
                return serialize_executable.deserialize_and_load(
                    zlib.decompress(body),
                    lowered.in_tree,
                    lowered.out_tree,
                    devices[0].client,
                    devices,
                )
        return None

    def store(self, compiled: Any) -> None:
        """Store the program, where JAX can and the disk has room."""
        try:
            serialized, _, _ = serialize_executable.serialize(compiled)
        except (ValueError, NotImplementedError):
            return
        body = zlib.compress(serialized, 1)
        config: Any = jax.config
        if len(body) < config.jax_persistent_cache_min_entry_size_bytes:
            return
        with contextlib.suppress(OSError):
            self._write(body)

    def _write(self, body: bytes) -> None:
        """Write the file at once: a reader sees the old content or the new one.

        It is not flushed to the disk, which takes 10 ms: the digest shows what a power cut left.
        """
        folder = self._path.parent
        folder.mkdir(parents=True, exist_ok=True)
        descriptor, partial = tempfile.mkstemp(".partial", dir=folder)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(_MAGIC + self._digest(body) + body)
            os.replace(partial, self._path)
        except BaseException:
            os.unlink(partial)
            raise

    def _digest(self, body: bytes) -> bytes:
        return hashlib.sha256(self._path.name.encode() + body).digest()
