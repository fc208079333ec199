"""Files, objects of programs, and old texts, as `torch.load` and `torch.save` take them."""

from __future__ import annotations

import argparse
import fractions
import io
import pathlib
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import oneflow as flow
from tests.checkpoint.both_libraries import OURS

SERIALIZATION = OURS.serialization


class Readable:
    """An object that can be read, of no class of Python's files.

    Args:
        content: what it holds.
        methods: those that it has beside `read` and `readline`.
    """

    def __init__(self, content: bytes, methods: tuple[str, ...]) -> None:
        self._file, self.calls = io.BytesIO(content), set()
        for name in ("read", "readline", *methods):
            setattr(self, name, self._noting(name, getattr(self._file, name)))

    def _noting(self, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            self.calls.add(name)
            return method(*arguments)

        return call


@pytest.mark.parametrize("is_archive", [True, False], ids=["archive", "plain"])
@pytest.mark.parametrize("writer", [torch, OURS], ids=["PyTorch", "here"])
@pytest.mark.parametrize(
    "methods",
    [("seek", "tell"), ("seek", "tell", "readinto"), ("seek", "tell", "seekable")],
    ids=lambda methods: methods[-1],
)
def test_objects_are_read_one_after_another(
    methods: tuple[str, ...], writer: Any, is_archive: bool
) -> None:
    file = io.BytesIO()
    for start in (0, 100):
        part = writer.arange(start, start + 30_000)
        options = {"_use_new_zipfile_serialization": is_archive}
        writer.save({"part": part[5:], "whole": part}, file, **options)
    source: Any = Readable(file.getvalue(), methods)
    for start in (0, 100):
        loaded = OURS.load(source)
        np.testing.assert_array_equal(loaded["whole"].numpy(), np.arange(start, start + 30_000))
        loaded["whole"][5] = -1
        assert loaded["part"][0] == -1
    assert source.read() == b""
    assert "readinto" not in methods or "readinto" in source.calls


@pytest.mark.parametrize("before", [0, 3, 64])
@pytest.mark.parametrize("opened", ["file", "buffer", "own object"])
def test_an_archive_may_begin_anywhere(opened: str, before: int, tmp_path: pathlib.Path) -> None:
    content = io.BytesIO(b"x" * before)
    content.seek(before)
    OURS.save([OURS.arange(20_000), "text"], content)
    content.write(b"behind")
    path = tmp_path / "model"
    for end in (None, -len(b"behind")):
        path.write_bytes(content.getvalue()[:end])
        with path.open("rb") as on_disk:
            sources: dict[str, Any] = {
                "file": on_disk,
                "buffer": io.BytesIO(path.read_bytes()),
                "own object": Readable(path.read_bytes(), ("seek", "tell")),
            }
            source = sources[opened]
            source.seek(before)
            numbers, text = OURS.load(source)
            assert (numbers.sum().item(), text) == (sum(range(20_000)), "text")
            assert source.read() == (b"behind" if end is None else b"")


def test_tensors_keep_their_numbers_when_the_file_changes(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "model"
    OURS.save({"a": OURS.ones(100_000), "b": OURS.ones(100_000)[:3]}, path)
    loaded = OURS.load(path)
    path.write_bytes(b"\0" * path.stat().st_size)
    assert loaded["a"].sum() == 100_000
    assert loaded["b"].sum() == 3


def test_objects_that_cannot_seek_are_refused() -> None:
    with pytest.raises(AttributeError, match=r"pre-load the data into a buffer like io\.BytesIO"):
        OURS.load(Readable(b"data", ()))


def test_what_cannot_write_is_refused() -> None:
    target = OURS.ones(2)
    with pytest.raises(AttributeError, match="'write'"):
        OURS.save(1, target)
    target.write = "no method"
    with pytest.raises(TypeError):
        OURS.save(1, target)


# `['\xc5\xbc', 2]`, with the text as Python 2 pickled it: its bytes.
PIECES = b"\x80\x02]q\x01(U\x02\xc5\xbcq\x02K\x02e."


def _of_python_2() -> bytes:
    head = [torch.serialization.MAGIC_NUMBER, 1001]
    machine = {"protocol_version": 1001, "little_endian": True, "type_sizes": {}}
    parts = [*head, machine]
    return b"".join(pickle.dumps(part, 2) for part in parts) + PIECES + pickle.dumps([], 2)


@pytest.mark.parametrize("weights_only", [True, False])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"encoding": "utf-8"},
        {"encoding": "latin1"},
        {"encoding": "bytes"},
        {"encoding": "ascii", "errors": "replace"},
    ],
    ids=str,
)
def test_texts_of_python_2_are_read_in_their_encoding(
    options: dict[str, Any], weights_only: bool
) -> None:
    content = _of_python_2()
    expected = torch.load(io.BytesIO(content), weights_only=False, **options)
    assert OURS.load(io.BytesIO(content), weights_only=weights_only, **options) == expected


def test_texts_in_another_encoding_are_an_error_that_says_so() -> None:
    with pytest.raises(RuntimeError, match="encoding='latin1'"):
        OURS.load(io.BytesIO(_of_python_2()), encoding="ascii")
    with pytest.raises(TypeError, match="'codec'"):
        OURS.load(io.BytesIO(_of_python_2()), codec="ascii")
    assert flow.load(io.BytesIO(_of_python_2())) == ["\xc5\xbc", 2]


@pytest.mark.parametrize("kind", [str, open, io.BytesIO])
def test_archives_are_written_and_read_by_record(kind: Any, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "some.pt"
    target: Any = str(path) if kind is str else path.open("w+b") if kind is open else io.BytesIO()
    records = {"a": b"12345", "b/c": b"", "d": bytes(range(256)) * 300}
    with SERIALIZATION._open_zipfile_writer(target) as archive:
        for name, content in records.items():
            archive.write_record(name, content + b"left out", len(content))
    for library in (SERIALIZATION, torch.serialization):
        if kind is not str:
            target.seek(0)
            assert library._is_zipfile(target)
        with library._open_zipfile_reader(target) as archive:
            assert {name: archive.get_record(name) for name in records} == records
            with pytest.raises(RuntimeError):
                archive.get_record("none")
    if kind is open:
        target.close()


def test_a_plain_file_with_an_archive_in_it_is_none() -> None:
    file = io.BytesIO()
    OURS.save([b"PK\x05\x06" + b"\0" * 100], file, _use_new_zipfile_serialization=False)
    file.seek(0)
    assert not SERIALIZATION._is_zipfile(file)


@pytest.mark.parametrize("protocol", [2, 4])
def test_names_that_are_not_safe_are_told(protocol: int) -> None:
    file = io.BytesIO()
    content = {"a": OURS.ones(2), "b": argparse.Action, "c": fractions.Fraction(1)}
    OURS.save(content, file, pickle_protocol=protocol)
    file.seek(0)
    names = SERIALIZATION.get_unsafe_globals_in_checkpoint(file)
    assert set(names) == {"argparse.Action", "fractions.Fraction"}
    with SERIALIZATION.safe_globals([argparse.Action]):
        file.seek(0)
        assert SERIALIZATION.get_unsafe_globals_in_checkpoint(file) == ["fractions.Fraction"]
    with pytest.raises(ValueError, match="checkpoint"):
        SERIALIZATION.get_unsafe_globals_in_checkpoint(io.BytesIO(b"12345678"))
