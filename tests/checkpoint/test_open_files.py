"""Objects that lie one after another in an open file."""

from __future__ import annotations

import io
import pickle

import pytest
import torch

import oneflow as flow


class _Pipe(io.BytesIO):
    """A file that is read once, from its beginning to its end."""

    def seekable(self) -> bool:
        return False

    def seek(self, *_: int) -> int:
        raise io.UnsupportedOperation("seek")

    def tell(self) -> int:
        raise io.UnsupportedOperation("tell")


@pytest.mark.parametrize("kind", [io.BytesIO, _Pipe])
def test_objects_one_after_another_in_a_file(kind) -> None:
    written = io.BytesIO()
    objects = [flow.arange(5), {}, {"step": 3}, [flow.ones(2, 2, dtype=flow.complex128), "x"]]
    for number, content in enumerate(objects):
        pickle.dump(number, written)
        flow.save(content, written)
    file = kind(written.getvalue())
    loaded = []
    for number in range(len(objects)):
        assert pickle.load(file) == number
        loaded.append(flow.load(file))
    assert loaded[0].tolist() == [0, 1, 2, 3, 4]
    assert loaded[1:3] == [{}, {"step": 3}]
    assert loaded[3][0].tolist() == [[1, 1], [1, 1]]
    assert file.read() == b""


def test_plain_files_one_after_another():
    file = io.BytesIO()
    for number in range(3):
        torch.save([number, torch.ones(number)], file, _use_new_zipfile_serialization=False)
    file.seek(0)
    loaded = [flow.load(file) for _ in range(3)]
    assert [(number, x.tolist()) for number, x in loaded] == [(0, []), (1, [1]), (2, [1, 1])]


class _Counting(io.BytesIO):
    """A file that counts the bytes that are read of it."""

    count = 0

    def read(self, size: int | None = -1, /) -> bytes:
        content = super().read(size)
        self.count += len(content)
        return content


def test_each_plain_file_is_read_once():
    written = io.BytesIO()
    for _ in range(20):
        torch.save(torch.ones(1000), written, _use_new_zipfile_serialization=False)
    file = _Counting(b"before" + written.getvalue())
    file.seek(len(b"before"))
    for _ in range(20):
        assert flow.load(file).sum().item() == 1000
    assert file.count < 1.5 * len(written.getvalue())
    assert file.read() == b""


def test_a_plain_file_that_ends_early():
    written = io.BytesIO()
    torch.save(torch.ones(1000), written, _use_new_zipfile_serialization=False)
    file = io.BytesIO(written.getvalue()[:-8])
    with pytest.raises(RuntimeError, match="the file ends early"):
        flow.load(file)
