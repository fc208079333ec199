"""The output of several processes, shown by the launcher."""

from __future__ import annotations

import os

import pytest

from oneflow.control_plane.launcher import streams


@pytest.fixture
def pipe():
    ends = []

    def make():
        reader, writer = os.pipe()
        ends.extend((reader, writer))
        return reader, writer

    yield make
    for each in ends:
        try:
            os.close(each)
        except OSError:  # closed by the test
            continue


def _read_until(reader: int, end: bytes) -> bytes:
    data = b""
    while not data.endswith(end):
        data += os.read(reader, 4096)
    return data


def test_lines_that_come_in_pieces_stay_whole(pipe, monkeypatch):
    monkeypatch.setattr(streams, "_SECONDS_FOR_A_LINE", 60.0)
    shown, target = pipe()
    (first, to_first), (second, to_second) = pipe(), pipe()
    tees = [streams.Tee(first, target, None), streams.Tee(second, target, None)]
    os.write(to_first, b"rank ")
    os.write(to_second, b"rank 1 ")
    os.write(to_second, b"done\nmore")
    assert _read_until(shown, b"\n") == b"rank 1 done\n"
    os.write(to_first, b"0 done\r\n")
    assert _read_until(shown, b"\n") == b"rank 0 done\r\n"
    os.write(to_first, b"10 %\r")
    assert _read_until(shown, b"\r") == b"10 %\r"
    os.close(to_first)
    os.close(to_second)
    for tee in tees:
        tee.join()
    assert _read_until(shown, b"more") == b"more"
    assert tees[0].tail(2) == ["rank 0 done", "10 %"]


def test_a_question_is_shown_although_its_line_does_not_end(pipe):
    shown, target = pipe()
    source, to_source = pipe()
    streams.Tee(source, target, None)
    os.write(to_source, b"continue? ")
    assert _read_until(shown, b"? ") == b"continue? "
