"""Saving and loading the variables of jobs: `oneflow.train.CheckPoint`."""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path

from oneflow.checkpoint import variables_folder
from oneflow.legacy.session import get_all_variables, load_variables


class CheckPoint:
    """Saves and loads the variables of all jobs as folders; see `oneflow.checkpoint.save`.

    Example:
        >>> import oneflow as flow
        >>> flow.train.CheckPoint().init()
    """

    def init(self) -> None:
        """Make the variables of all jobs, with their first values unless they exist."""
        get_all_variables()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the variables to a folder that does not exist yet.

        Raises:
            FileExistsError: the folder exists and is not empty.
        """
        variables_folder.save(path)

    def load(self, path: str | os.PathLike[str]) -> None:
        """Set the variables to those in a folder; what else it holds is left out.

        Raises:
            FileNotFoundError: there is no such folder.
            RuntimeError: it is damaged.
            ValueError: a variable has another shape.
        """
        load_variables(variables_folder.get_like(path, get_all_variables()))


class SimpleCheckPointManager:
    """Snapshots in one folder, named by their time.

    Args:
        root_path: the folder; it is made if it does not exist.
        prefix: what the names of snapshots begin with.

    Example:
        >>> import tempfile
        >>> import oneflow as flow
        >>> flow.clear_default_session()
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     manager = flow.train.SimpleCheckPointManager(folder)
        ...     manager.save()
        ...     len(manager.list_checkpoints())
        1
    """

    def __init__(self, root_path: str | os.PathLike[str], prefix: str = "snapshot_") -> None:
        self._folder, self._prefix = Path(root_path), prefix
        self._folder.mkdir(parents=True, exist_ok=True)

    def list_checkpoints(self) -> list[str]:
        """Return the names of the snapshots that are complete, the oldest first."""
        return sorted(
            path.name
            for path in self._folder.iterdir()
            if path.name.startswith(self._prefix) and (path / variables_folder.DONE).is_file()
        )

    def latest_checkpoint(self) -> str | None:
        """Return the path of the latest snapshot, None if there is none."""
        names = self.list_checkpoints()
        return str(self._folder / names[-1]) if names else None

    def initialize_or_restore(self) -> None:
        """Load the latest snapshot; without one, write the variables as they are."""
        latest = self.latest_checkpoint()
        if latest is None:
            self.save()
        else:
            CheckPoint().load(latest)

    def save(self) -> None:
        """Write the variables as one more snapshot."""
        time = datetime.now().strftime("%Y%m%d%H%M%S%f")
        CheckPoint().save(self._folder / f"{self._prefix}{time}")
