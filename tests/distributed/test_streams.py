"""The output of several processes, shown by the launcher."""

from __future__ import annotations

import os
from typing import IO

import pytest

from oneflow.control_plane.launcher import streams


@pytest.fixture
def pipe():
    files = []

    def make():
        reader, writer = os.pipe()
        files.extend((os.fdopen(reader, "rb", buffering=0), os.fdopen(writer, "wb", buffering=0)))
        return files[-2:]

    yield make
    for file in files:
        file.close()


def _read_until(reader: IO[bytes], end: bytes) -> bytes:
    data = b""
    while not data.endswith(end):
        data += reader.read(4096)
    return data


def test_lines_that_come_in_pieces_stay_whole(pipe, monkeypatch):
    monkeypatch.setattr(streams, "_SECONDS_FOR_A_LINE", 60.0)
    shown, target = pipe()
    (first, to_first), (second, to_second) = pipe(), pipe()
    tees = [streams.Tee(stream, target.fileno(), None) for stream in (first, second)]
    to_first.write(b"rank ")
    to_second.write(b"rank 1 ")
    to_second.write(b"done\nmore")
    assert _read_until(shown, b"\n") == b"rank 1 done\n"
    to_first.write(b"0 done\r\n")
    assert _read_until(shown, b"\n") == b"rank 0 done\r\n"
    to_first.write(b"10 %\r")
    assert _read_until(shown, b"\r") == b"10 %\r"
    to_first.close()
    to_second.close()
    for tee in tees:
        tee.join()
    assert _read_until(shown, b"more") == b"more"
    assert tees[0].tail(2) == ["rank 0 done", "10 %"]


def test_a_question_is_shown_although_its_line_does_not_end(pipe):
    shown, target = pipe()
    source, to_source = pipe()
    tee = streams.Tee(source, target.fileno(), None)
    to_source.write(b"continue? ")
    assert _read_until(shown, b"? ") == b"continue? "
    to_source.close()
    tee.join()
