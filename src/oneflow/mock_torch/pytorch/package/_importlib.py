"""The resources of packages, as `importlib.resources` reads them."""

from __future__ import annotations

import io
from collections.abc import Iterator
from importlib.abc import Traversable, TraversableResources
from pathlib import Path
from typing import IO, Any


class PackageFile(Traversable):
    """A file or folder in a package.

    Args:
        reader: of the package.
        path: from its root.
    """

    def __init__(self, reader: Any, path: str) -> None:
        self._reader, self._path = reader, path

    @property
    def name(self) -> str:
        return self._path.rpartition("/")[2]

    def is_file(self) -> bool:
        return self._reader.has_record(self._path)

    def is_dir(self) -> bool:
        return any(file.startswith(self._path + "/") for file in self._reader.get_all_records())

    def iterdir(self) -> Iterator[PackageFile]:
        names: dict[str, None] = {}
        for file in self._reader.get_all_records():
            if file.startswith(self._path + "/"):
                names[file[len(self._path) + 1 :].partition("/")[0]] = None
        return (PackageFile(self._reader, f"{self._path}/{name}") for name in names)

    def joinpath(self, *descendants: Any) -> PackageFile:
        path = "/".join([self._path, *(str(part) for part in descendants)])
        return PackageFile(self._reader, path)

    def open(self, mode: str = "r", *args: Any, **kwargs: Any) -> IO[Any]:
        content = io.BytesIO(self.read_bytes())
        return content if "b" in mode else io.TextIOWrapper(content, *args, **kwargs)

    def read_bytes(self) -> bytes:
        if not self.is_file():
            raise FileNotFoundError(self._path)
        return self._reader.get_record(self._path)

    def read_text(self, encoding: str | None = None) -> str:
        return self.read_bytes().decode(encoding or "utf-8")


class PackageResourceReader(TraversableResources):
    """The resources beside a module.

    Args:
        reader: of the package.
        folder: of the module.
    """

    def __init__(self, reader: Any, folder: str) -> None:
        self._reader, self._folder = reader, folder

    def files(self) -> PackageFile:
        return PackageFile(self._reader, self._folder)

    def open_resource(self, resource: str) -> io.BufferedReader:
        raw: Any = io.BytesIO(self.files().joinpath(resource).read_bytes())
        return io.BufferedReader(raw)

    def resource_path(self, resource: str) -> str:
        """Return the path of a resource.

        Raises:
            FileNotFoundError: it is in an archive.
        """
        folder = getattr(self._reader, "directory", None)
        if folder is None:
            raise FileNotFoundError(f"{resource} is in an archive, and has no path")
        return str(Path(folder, self._folder, resource))

    def is_resource(self, path: str) -> bool:
        return self.files().joinpath(path).is_file()

    def contents(self) -> Iterator[str]:
        return (file.name for file in self.files().iterdir())
