"""The compilation cache stays small."""

import os
from pathlib import Path

from oneflow.compiler.cache import tidy, tidy_daily


def test_files_not_used_for_longest_go_first(tmp_path: Path):
    for age, name in enumerate(("new", "old", "oldest")):
        (tmp_path / name).write_bytes(bytes(100))
        os.utime(tmp_path / name, (1e9 - age, 1e9))
    tidy(tmp_path, 150)
    assert [path.name for path in tmp_path.iterdir()] == ["new"]


def test_tidying_happens_once_a_day(tmp_path: Path):
    tidy_daily(tmp_path / "xla")
    stamp = tmp_path / "xla" / ".tidied"
    os.utime(stamp, (1e9, 1e9))
    tidy_daily(tmp_path / "xla")
    first = stamp.stat().st_mtime
    tidy_daily(tmp_path / "xla")
    assert 1e9 < first == stamp.stat().st_mtime
