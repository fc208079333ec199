"""The files of a package as a tree."""

from __future__ import annotations

from collections.abc import Sequence

from oneflow.mock_torch.pytorch.package.glob_group import GlobGroup, GlobPattern


class Directory:
    """A folder of a package; its text is the tree below it.

    Args:
        name: of the folder.
        is_dir: False for a file.
    """

    def __init__(self, name: str, is_dir: bool) -> None:
        self.name, self.is_dir = name, is_dir
        self.children: dict[str, Directory] = {}

    def _add_file(self, path: str) -> None:
        *folders, name = path.split("/")
        place = self
        for folder in folders:
            place = place.children.setdefault(folder, Directory(folder, True))
        place.children[name] = Directory(name, False)

    def has_file(self, filename: str) -> bool:
        """Return whether there is a file below the folder.

        Args:
            filename: its path from here.
        """
        place: Directory | None = self
        for name in filename.split("/"):
            place = place.children.get(name) if place is not None else None
        return place is not None

    def __str__(self) -> str:
        return "\n".join([self.name, *self._lines(), ""])

    def _lines(self) -> list[str]:
        """The lines of what is in the folder: folders, and then files, by name."""
        entries = sorted(self.children.values(), key=lambda entry: (not entry.is_dir, entry.name))
        lines = []
        for number, entry in enumerate(entries, 1):
            is_last = number == len(entries)
            lines.append(f"    {'└──' if is_last else '├──'} {entry.name}")
            # Below a folder everything is moved by its own indentation.
            rest = " " if is_last else "│"
            lines += [
                f"    {rest}{line[1:] if line[:1] == ' ' else line}" for line in entry._lines()
            ]
        return lines


def _create_directory_from_file_list(
    filename: str,
    file_list: Sequence[str],
    include: GlobPattern = "**",
    exclude: GlobPattern = (),
) -> Directory:
    """Return the tree of the files whose names are among those asked for.

    Args:
        filename: name of the root.
        file_list: the paths of all files.
        include: patterns of the files.
        exclude: patterns of files that are left out.
    """
    group = GlobGroup(include, exclude=exclude, separator="/")
    root = Directory(filename, True)
    for file in file_list:
        if group.matches(file):
            root._add_file(file)
    return root
