"""Decoders of files by their extensions."""

from __future__ import annotations

import importlib
import io
import json
import os.path
import pickle
import tempfile
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

import oneflow as flow
from oneflow.data.vision.pillow import Image
from oneflow.mock_torch.pytorch.serialization import load
from oneflow.mock_torch.pytorch.utils.data.datapipes.utils.common import StreamWrapper

_IMAGES = ("jpg", "jpeg", "png", "ppm", "pgm", "pbm", "pnm")
#: Library, type of elements and colours of an image, by the name of a specification.
imagespecs = {
    f"{prefix}{mode}{suffix}": (library, kind, mode)
    for prefix, library in (("", "numpy"), ("torch", "torch"))
    for mode in ("l", "rgb", "rgba")
    for suffix, kind in (("8", "uint8"), ("", "float"))
} | {
    "torch": ("torch", "float", "rgb"),
    "pill": ("pil", None, "l"),
    "pil": ("pil", None, "rgb"),
    "pilrgb": ("pil", None, "rgb"),
    "pilrgba": ("pil", None, "rgba"),
}


def _load_tensors(data: bytes) -> Any:
    return load(io.BytesIO(data))


def _read_number(data: bytes) -> int | None:
    try:
        return int(data)
    except ValueError:
        return None


_BASIC: dict[tuple[str, ...], Callable[[bytes], Any]] = {
    ("txt", "text", "transcript"): bytes.decode,
    ("cls", "cls2", "class", "count", "index", "inx", "id"): _read_number,
    ("json", "jsn"): json.loads,
    ("pyd", "pickle"): pickle.loads,
    ("pt",): _load_tensors,
}


def basichandlers(extension: str, data: bytes) -> Any:
    """Decode texts, numbers, JSON, pickles and tensors; return None for others."""
    for extensions, decode in _BASIC.items():
        if extension in extensions:
            return decode(data)
    return None


def handle_extension(extensions: str, f: Callable[[Any], Any]) -> Callable[[str, Any], Any]:
    """Return a handler of files with some extensions.

    Args:
        extensions: the extensions, separated by spaces; they may have dots themselves.
        f: decodes the content of such files.
    """
    split_extensions = [extension.split(".") for extension in extensions.lower().split()]

    def handle(key: str, data: Any) -> Any:
        parts = key.lower().split(".")
        fits = any(parts[-len(extension) :] == extension for extension in split_extensions)
        return f(data) if fits else None

    return handle


class ImageHandler:
    """A decoder of images.

    Args:
        imagespec: a name in `imagespecs`: `rgb8` for bytes in NumPy, `rgb` for floats, `torchrgb`
            for tensors whose channels come first, `pil` for Pillow's images, and so on.
    """

    def __init__(self, imagespec: str) -> None:
        if imagespec not in imagespecs:
            raise AssertionError(f"unknown image specification: {imagespec}")
        self.imagespec = imagespec

    def __call__(self, extension: str, data: bytes) -> Any:
        """Decode an image; return None for other files."""
        if extension.lower() not in _IMAGES:
            return None
        library, kind, mode = imagespecs[self.imagespec]
        with io.BytesIO(data) as stream:
            image = Image.open(stream).convert(mode.upper())
        if library == "pil":
            return image
        pixels = np.asarray(image)
        if library == "numpy":
            return pixels if kind == "uint8" else pixels.astype(np.float32) / 255.0
        values = flow.tensor(np.ascontiguousarray(np.atleast_3d(pixels).transpose(2, 0, 1)))
        return values if kind == "uint8" else values / 255.0


def imagehandler(imagespec: str) -> ImageHandler:
    """Return a decoder of images; see `ImageHandler`."""
    return ImageHandler(imagespec)


def _read_file(module: str, function: str, extension: str, data: bytes) -> Any:
    """Call a library's function with the name of a file that holds data."""
    library = importlib.import_module(module)
    with tempfile.TemporaryDirectory() as folder:
        name = os.path.join(folder, f"file.{extension}")
        with open(name, "wb") as file:
            file.write(data)
        return getattr(library, function)(name)


def videohandler(extension: str, data: bytes) -> Any:
    """Decode videos by torchvision, which must be installed; return None for others."""
    extensions = ("mp4", "ogv", "mjpeg", "avi", "mov", "h264", "mpg", "webm", "wmv")
    if extension not in extensions:
        return None
    return _read_file("torchvision.io", "read_video", extension, data)


def audiohandler(extension: str, data: bytes) -> Any:
    """Decode sounds by torchaudio, which must be installed; return None for others."""
    if extension not in ("flac", "mp3", "sox", "wav", "m4a", "ogg", "wma"):
        return None
    return _read_file("torchaudio", "load", extension, data)


class MatHandler:
    """A decoder of Matlab's files by SciPy, which must be installed.

    Args:
        loadmat_kwargs: arguments of `scipy.io.loadmat`.
    """

    def __init__(self, **loadmat_kwargs: Any) -> None:
        self.sio = importlib.import_module("scipy.io")
        self.loadmat_kwargs = loadmat_kwargs

    def __call__(self, extension: str, data: bytes) -> Any:
        """Decode a file; return None for other files."""
        if extension != "mat":
            return None
        return self.sio.loadmat(io.BytesIO(data), **self.loadmat_kwargs)


def mathandler(**loadmat_kwargs: Any) -> MatHandler:
    """Return a decoder of Matlab's files; see `MatHandler`."""
    return MatHandler(**loadmat_kwargs)


def extension_extract_fn(pathname: str) -> str:
    """Return the extension of a name, without its dot."""
    return os.path.splitext(pathname)[1].removeprefix(".")


class Decoder:
    """A decoder that asks handlers, one after the other, until one returns something.

    Args:
        handler: functions of a key and the content that return None for what they do not know.
        key_fn: makes a key of a name.
    """

    def __init__(
        self, *handler: Callable[[str, Any], Any], key_fn: Callable = extension_extract_fn
    ) -> None:
        self.handlers = list(handler)
        self.key_fn = key_fn

    def add_handler(self, *handler: Callable[[str, Any], Any]) -> None:
        """Ask handlers before those that there are."""
        self.handlers = [*handler, *self.handlers]

    def decode1(self, key: str, data: Any) -> Any:
        """Decode a file; what no handler knows is returned as it is."""
        if not data:
            return data
        stream = data.file_obj if isinstance(data, StreamWrapper) else data
        if isinstance(stream, io.BufferedIOBase | io.RawIOBase):
            content = b"".join(data)
            data.close()
            data = content
        results = (handler(key, data) for handler in self.handlers)
        return next((result for result in results if result is not None), data)

    def decode(self, data: Iterable[tuple[str, Any]] | tuple[str, Any] | None) -> dict[str, Any]:
        """Decode pairs of a name and a content; texts whose names begin with `_` are kept."""
        pairs: Any = [data] if isinstance(data, tuple) else data or ()
        return {
            name: content.decode("utf-8")
            if name.startswith("_") and isinstance(content, bytes)
            else self.decode1(self.key_fn(name), content)
            for name, content in pairs
        }

    def __call__(self, data: Any) -> dict[str, Any]:
        """Decode pairs, see `decode`."""
        return self.decode(data)
