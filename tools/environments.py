"""Virtual environments of programs and libraries that are run with this project."""

from __future__ import annotations

import site
import subprocess
import sys
import venv
from collections.abc import Iterable, Mapping
from pathlib import Path

PROJECT = Path(__file__).parents[1]


class Environment:
    """A virtual environment that finds this project's packages behind its own.

    Args:
        folder: where it is, or will be.
    """

    def __init__(self, folder: Path) -> None:
        self.binaries = folder / "bin"
        self.python = self.binaries / "python"
        self._folder = folder

    def make(self, packages: Iterable[str], variables: Mapping[str, str], *options: str) -> None:
        """Make it if it is not there, and install packages.

        Args:
            packages: the packages, as pip takes them.
            variables: the environment variables of pip.
            options: further arguments of ``pip install``.
        """
        self.link()
        if packages := tuple(packages):
            install = [str(self.python), "-m", "pip", "install", "--quiet", *options, *packages]
            subprocess.run(install, env=dict(variables), check=True)

    def link(self) -> None:
        """Make it if it is not there, and let it find this project's packages where they are."""
        if not self.python.exists():
            venv.create(self._folder, with_pip=True, symlinks=True)
        version = f"python{sys.version_info.major}.{sys.version_info.minor}"
        installed = self._folder / "lib" / version / "site-packages"
        (installed / "project.pth").write_text("\n".join(site.getsitepackages()))
