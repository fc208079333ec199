"""Saving and loading the variables of jobs: `oneflow.train.CheckPoint`."""

from __future__ import annotations

import os

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
