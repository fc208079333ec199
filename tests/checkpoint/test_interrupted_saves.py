"""Saves that are killed, or find no room: what was there before stays, nothing is left behind."""

import errno
import fcntl
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import oneflow as flow
from oneflow import nn
from oneflow.checkpoint import sharded, tensor_file
from oneflow.checkpoint.atomic_file import atomic_write
from tests.graph.helpers import graph_of

SOURCE = Path(flow.__file__).parents[1]
PAIR = flow.placement("cpu", [0, 1])


def file_saver(value):
    """A function of a path that saves tensors of this value."""
    return lambda path: flow.save({"x": flow.full((3,), value), "n": [value]}, path)


def folder_saver(value):
    x = flow.full((4,), value, placement=PAIR, sbp=flow.sbp.split(0))
    return lambda path: flow.save({"x": x}, path)


def graph_saver(value, place=None):
    layer = nn.Linear(1, 2, bias=False)
    nn.init.constant_(layer.weight, value)
    x = flow.ones(2, 1)
    if place is not None:
        layer.to_global(place, place.broadcast)
        x = x.to_global(place, place.broadcast)
    graph = graph_of(lambda x: layer(x), layer=layer)
    graph(x)
    return graph.save


def global_graph_saver(value):
    return graph_saver(value, PAIR)


def loaded_value(path):
    loaded = flow.load(path)
    weights = loaded if isinstance(loaded, dict) else loaded.state_dict()
    (numbers,) = {
        number for key in weights if key != "n" for number in weights[key].numpy().ravel()
    }
    return float(numbers)


class Watch:
    """Copies a folder before each of this process's changes to it.

    A kill leaves what had been done by then: every copy is what one kill could leave.
    """

    def __init__(self):
        self.folder = self.copies = None
        sys.addaudithook(self._hook)

    def copies_during(self, save, target, copies):
        self.folder, self.copies, self.count = target.parent, copies, 0
        try:
            save(target)
        finally:
            self.folder = None
        return [copies / str(number) / target.name for number in range(self.count)]

    def _hook(self, event, arguments):
        folder = self.folder
        if folder is None or not event.startswith(("open", "os.", "shutil.")):
            return
        if any(str(argument).startswith(str(folder)) for argument in arguments):
            self.folder = None  # its own copying is of no interest
            shutil.copytree(folder, self.copies / str(self.count))
            self.count += 1
            self.folder = folder


@pytest.fixture(scope="module")
def watch():
    return Watch()


SAVERS = [file_saver, folder_saver, graph_saver, global_graph_saver]


@pytest.mark.parametrize("saver", SAVERS)
def test_killed_at_any_moment(tmp_path, watch, saver):
    (tmp_path / "folder").mkdir()
    target = tmp_path / "folder" / "saved"
    saver(1.0)(target)
    clean = shape_of(target.parent)
    copies = watch.copies_during(saver(2.0), target, tmp_path / "copies")
    assert loaded_value(target) == 2.0
    assert shape_of(target.parent) == clean
    found = [loaded_value(copy) for copy in copies]
    assert len(found) > 4
    assert found == sorted(found)
    assert set(found) == {1.0, 2.0}
    again = saver(3.0)
    for saved_copy in random.Random(0).sample(copies, 4):
        again(saved_copy)
        assert loaded_value(saved_copy) == 3.0
        assert shape_of(saved_copy.parent) == clean


def shape_of(folder):
    """The number of files and folders at each depth."""
    return sorted(len(path.relative_to(folder).parts) for path in folder.rglob("*"))


@pytest.mark.parametrize("saver", SAVERS)
def test_everything_is_on_disk_before_it_counts(tmp_path, monkeypatch, saver):
    flushed, moved = set(), []
    fsync, replace = os.fsync, Path.replace

    def note_flushed(descriptor):
        number = descriptor if isinstance(descriptor, int) else descriptor.fileno()
        flushed.add(os.fstat(number).st_ino)
        fsync(descriptor)

    def note_moved(path, target):
        assert path.stat().st_ino in flushed
        moved.append(Path(target))
        return replace(path, target)

    monkeypatch.setattr(os, "fsync", note_flushed)
    monkeypatch.setattr(Path, "replace", note_moved)
    saver(1.0)(tmp_path / "saved")
    # The last to move is what names the rest.
    names = {"saved", "checkpoint.json", "program.json"}
    assert moved[-1].name in names
    for path in [tmp_path, *tmp_path.rglob("*")]:
        assert path.stat().st_ino in flushed, path


def test_saves_that_still_run_are_left_alone(tmp_path):
    target = tmp_path / "file"
    with atomic_write(target) as file:
        file.write(b"later")
        flow.save(1, target)
        assert flow.load(target) == 1
    assert target.read_bytes() == b"later"
    root = tmp_path / "folder"
    write = tensor_file.write

    def save_another_first(path, *rest):
        tensor_file.write = write
        folder_saver(1.0)(root)
        assert loaded_value(root) == 1.0
        write(path, *rest)

    tensor_file.write = save_another_first
    try:
        folder_saver(2.0)(root)
    finally:
        tensor_file.write = write
    assert loaded_value(root) == 2.0
    assert len(list(root.iterdir())) == 2


def test_what_is_not_ours_is_left_alone(tmp_path):
    names = ["parts-mine", ".file.notes", ".file.0123.partial", ".other.0123456789ab.partial"]
    for name in names:
        (tmp_path / name).mkdir()
    abandoned = tmp_path / ".file.0123456789ab.partial"
    abandoned.write_text("killed")
    flow.save(1, tmp_path / "file")
    assert {path.name for path in tmp_path.iterdir()} == {"file", *names}
    folder_saver(1.0)(tmp_path)
    assert {*names, "file"} < {path.name for path in tmp_path.iterdir()}


def test_graphs_and_checkpoints_do_not_share_a_folder(tmp_path):
    graph_saver(1.0)(tmp_path / "graph")
    with pytest.raises(FileExistsError, match="saved graph"):
        folder_saver(2.0)(tmp_path / "graph")
    folder_saver(2.0)(tmp_path / "checkpoint")
    with pytest.raises(FileExistsError, match=r"checkpoint\.json"):
        graph_saver(1.0)(tmp_path / "checkpoint")
    assert loaded_value(tmp_path / "graph") == 1.0
    assert loaded_value(tmp_path / "checkpoint") == 2.0


def test_locks_that_the_file_system_does_not_have(tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    (tmp_path / ".file.0123456789ab.partial").touch()
    for saver in (file_saver, folder_saver):
        for value in (1.0, 2.0):
            saver(value)(tmp_path / ("file" if saver is file_saver else "folder"))
    assert loaded_value(tmp_path / "file") == loaded_value(tmp_path / "folder") == 2.0
    assert len(list((tmp_path / "folder").iterdir())) == 2
    assert (tmp_path / ".file.0123456789ab.partial").exists()


def test_links_and_devices(tmp_path):
    (tmp_path / "run1").touch()
    (tmp_path / "latest").symlink_to("run1")
    flow.save([1], tmp_path / "latest")
    assert (tmp_path / "latest").is_symlink()
    assert flow.load(tmp_path / "run1") == [1]
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    flow.save([2], tmp_path / "pipe")
    (tmp_path / "received").write_bytes(os.read(reader, 10_000))
    os.close(reader)
    assert flow.load(tmp_path / "received") == [2]
    with pytest.raises(OSError, match=r"No space left on device: '/dev/full'"):
        flow.save([3], "/dev/full")


LIMITED = """
import os, resource, sys
import oneflow as flow
from oneflow import nn
from tests.checkpoint.test_interrupted_saves import SAVERS
small, large = [saver(1.0) for saver in SAVERS], flow.arange(100_000)
for number, saver in enumerate(SAVERS):
    saver(1.0)(f"{sys.argv[1]}/{number}")
flow.save(large, f"{sys.argv[1]}/large")
savers = [saver(2.0) for saver in SAVERS] + [lambda path: flow.save(large + 1, path)]
resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
for number, save in enumerate(savers):
    path = f"{sys.argv[1]}/{'large' if number == len(SAVERS) else number}"
    try:
        save(path)
    except OSError as error:
        assert str(error.filename).startswith(path), error
    else:
        raise AssertionError(path)
"""


def test_a_full_disk_names_the_path_and_the_old_file_stays(tmp_path):
    target = tmp_path / "saved"
    target.mkdir()
    environment = {**os.environ, "PYTHONPATH": f"{SOURCE}:{SOURCE.parent}"}
    environment["ONEFLOW_CACHE_DIR"] = "off"
    environment["ONEFLOW_CPU_DEVICES"] = "2"
    subprocess.run([sys.executable, "-c", LIMITED, target], check=True, env=environment)
    assert {path.name for path in target.iterdir()} == {"0", "1", "2", "3", "large"}
    assert [loaded_value(target / str(number)) for number in range(4)] == [1.0] * 4
    np.testing.assert_array_equal(flow.load(target / "large").numpy(), np.arange(100_000))


SAVING = """
import sys
from tests.checkpoint.test_interrupted_saves import SAVERS
savers = [[saver(value) for value in (1.0, 2.0)] for saver in SAVERS]
while True:
    for value in (0, 1):
        for number, saver in enumerate(savers):
            saver[value](f"{sys.argv[1]}/{number}")
    print(flush=True)
"""


@pytest.mark.slow
def test_real_kills(tmp_path):
    environment = {**os.environ, "PYTHONPATH": f"{SOURCE}:{SOURCE.parent}"}
    environment["ONEFLOW_CPU_DEVICES"] = "2"
    chance = random.Random(1)
    for _ in range(3):
        command = [sys.executable, "-c", SAVING, tmp_path]
        with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE) as process:
            assert process.stdout.readline()
            time.sleep(chance.uniform(0, 0.5))
            process.send_signal(signal.SIGKILL)
        for number in range(len(SAVERS)):
            assert loaded_value(tmp_path / str(number)) in (1.0, 2.0)
    for number, saver in enumerate(SAVERS):
        saver(3.0)(tmp_path / str(number))
        assert loaded_value(tmp_path / str(number)) == 3.0
    assert len(list(tmp_path.iterdir())) == len(SAVERS)


def test_a_failed_manifest_does_not_hide_the_error(tmp_path, monkeypatch):
    def fail(*_):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(sharded, "_manifest_of", fail)
    with pytest.raises(OSError, match="Input/output"):
        folder_saver(1.0)(tmp_path / "folder")
    assert not list((tmp_path / "folder").iterdir())
