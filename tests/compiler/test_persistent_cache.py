"""The compilation cache stays small."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from oneflow.compiler.persistent_cache import evict, make_private, schedule_cleanup

# Every program is compiled the first time it runs.
COMPILED = {"ONEFLOW_EAGER": "compiled"}


def test_files_not_used_for_longest_go_first(tmp_path: Path):
    for age, name in enumerate(("new", "old", "oldest")):
        (tmp_path / name).write_bytes(bytes(100))
        os.utime(tmp_path / name, (1e9 - age, 1e9))
    evict(tmp_path, 150)
    assert [path.name for path in tmp_path.iterdir()] == ["new"]


def test_eviction_happens_once_a_day(tmp_path: Path):
    schedule_cleanup(tmp_path / "xla")
    stamp = tmp_path / "xla" / ".tidied"
    os.utime(stamp, (1e9, 1e9))
    schedule_cleanup(tmp_path / "xla")
    first = stamp.stat().st_mtime
    schedule_cleanup(tmp_path / "xla")
    assert 1e9 < first == stamp.stat().st_mtime


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="cores cannot be chosen here")
def test_what_was_compiled_for_one_core_is_not_used_on_two(tmp_path: Path):
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < 2:
        pytest.skip("one core only")
    program = (
        "import os, sys; os.sched_setaffinity(0, set(map(int, sys.argv[1:])));"
        "import oneflow; (oneflow.ones(3) * 7).numpy()"
    )
    for own in (cores[:1], cores[:2]):
        subprocess.run(
            [sys.executable, "-c", program, *map(str, own)],
            env={**os.environ, **COMPILED, "ONEFLOW_CACHE_DIR": str(tmp_path)},
            check=True,
        )
    alone, both = (len(list(tmp_path.glob(f"xla-{n}-cores/jit*"))) for n in (1, 2))
    assert alone == both > 0


def test_folders_that_exist_are_left_as_they_are(tmp_path: Path):
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    for root in (shared, tmp_path / "own" / "cache"):
        subprocess.run(
            [sys.executable, "-c", "import oneflow; (oneflow.ones(3) * 7).numpy()"],
            env={**os.environ, **COMPILED, "ONEFLOW_CACHE_DIR": str(root)},
            check=True,
        )
        (programs,) = root.iterdir()
        assert stat.S_IMODE(programs.stat().st_mode) == 0o700
        assert list(programs.glob("jit*"))
    assert stat.S_IMODE(shared.stat().st_mode) == 0o777
    assert stat.S_IMODE((tmp_path / "own" / "cache").stat().st_mode) == 0o700


def test_somebody_elses_folder_is_not_used(tmp_path: Path, monkeypatch):
    assert make_private(tmp_path / "cache" / "xla")
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    assert not make_private(tmp_path / "cache" / "xla")
    (tmp_path / "file").touch()
    assert not make_private(tmp_path / "file" / "xla")
