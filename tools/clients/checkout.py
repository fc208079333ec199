"""A client's files and environment in the cache folder, outside of the repository."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from tools.clients.catalogue import FOLDER, Client, Edit
from tools.environments import PROJECT, Environment


class Checkout:
    """The files and the virtual environment of a client.

    Args:
        client: the client.
        cache: the folder that has those of all clients.
    """

    def __init__(self, client: Client, cache: Path) -> None:
        self.client = client
        self._repository = cache / client.name / "repository"
        self.folder = cache / client.name / "files"
        self._environment = Environment(cache / client.name / "environment")

    def variables(self) -> dict[str, str]:
        """The environment of a command of the client."""
        binaries = self._environment.binaries
        return {
            **self.client.variables,
            "PATH": f"{binaries}:/usr/local/bin:/usr/bin:/bin",
            "PYTHONPATH": f"{PROJECT / 'src'}:{self.folder}",
            "VIRTUAL_ENV": str(binaries.parent),
        }

    def prepare(self) -> None:
        """Make the environment, fetch the commit, edit its files and write its data.

        Raises:
            RuntimeError: an edit does not fit.
        """
        stamp = self.folder / ".prepared"
        client = self.client
        state = repr((client.commit, client.packages, client.without, client.edits))
        state += (FOLDER / "data" / client.data).read_text() if client.data else ""
        self._environment.link()
        if stamp.exists() and stamp.read_text() == state:
            return
        shutil.rmtree(self.folder, ignore_errors=True)
        self._fetch()
        for edit in client.edits:
            self._edit(edit)
        self._environment.make(client.packages, self.variables())
        if self.client.data:
            self._python(str(FOLDER / "data" / self.client.data))
        stamp.write_text(state)

    def _fetch(self) -> None:
        repository, commit = self._repository, self.client.commit
        if not repository.exists():
            subprocess.run(["git", "init", "--quiet", str(repository)], check=True)
        git = ["git", "-C", str(repository)]
        known = subprocess.run([*git, "cat-file", "-e", commit], capture_output=True, check=False)
        if known.returncode:
            fetch = ["fetch", "--quiet", "--depth", "1", self.client.repository, commit]
            subprocess.run([*git, *fetch], check=True)
        self.folder.mkdir(parents=True)
        paths = [".", *(f":(exclude){pattern}" for pattern in self.client.without)]
        archive = subprocess.Popen([*git, "archive", commit, "--", *paths], stdout=subprocess.PIPE)
        subprocess.run(["tar", "-x", "-C", str(self.folder)], stdin=archive.stdout, check=True)
        if archive.wait():
            raise RuntimeError(f"{self.client.name}: git archive ended with {archive.returncode}")

    def _edit(self, edit: Edit) -> None:
        files = [path for path in self.folder.glob(edit.file) if edit.old in path.read_text()]
        if not files:
            raise RuntimeError(f"{self.client.name}: {edit.file} does not hold {edit.old!r}")
        for file in files:
            file.write_text(file.read_text().replace(edit.old, edit.new))

    def _python(self, *arguments: str) -> None:
        command = [str(self._environment.python), *arguments]
        subprocess.run(command, cwd=self.folder, env=self.variables(), check=True)
