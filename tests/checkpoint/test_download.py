"""Downloads of weights: whole, cut off, wrong, and offline."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import http.server
import os
import subprocess
import sys
import tarfile
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import oneflow as flow
from oneflow.data.vision.archive import extract_archive


class _Server(http.server.BaseHTTPRequestHandler):
    content = b""
    break_after: int | None = None
    tag: str | None = '"1"'
    obeys_if_range = True
    ranges: list[str | None]

    def do_GET(self) -> None:
        asked = self.headers.get("Range")
        self.ranges.append(asked)
        if self.obeys_if_range and self.headers.get("If-Range") != self.tag:
            asked = None
        start = int(asked.removeprefix("bytes=").rstrip("-")) if asked else 0
        if start >= len(self.content):
            self.send_error(416)
            return
        self.send_response(206 if asked else 200)
        self.send_header("Content-Length", str(len(self.content) - start))
        if asked:
            size = len(self.content)
            self.send_header("Content-Range", f"bytes {start}-{size - 1}/{size}")
        if self.tag is not None:
            self.send_header("ETag", self.tag)
        self.end_headers()
        end = len(self.content) if self.break_after is None else self.break_after
        self.wfile.write(self.content[start:end])

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[tuple[type[_Server], str]]:
    flow.save({"weight": flow.arange(1000.0)}, tmp_path / "weights.pt")

    class Handler(_Server):
        content = (tmp_path / "weights.pt").read_bytes()
        ranges: list[str | None] = []  # noqa: RUF012

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as httpd:
        threading.Thread(target=httpd.serve_forever, daemon=True).start()
        yield Handler, f"http://127.0.0.1:{httpd.server_port}"
        httpd.shutdown()


def test_state_dict_is_downloaded_once(server, tmp_path: Path) -> None:
    handler, address = server
    digits = hashlib.sha256(handler.content).hexdigest()[:8]
    for _ in range(2):
        state = flow.hub.load_state_dict_from_url(
            f"{address}/net-{digits}.pt",
            model_dir=tmp_path / "cache",
            check_hash=True,
            progress=False,
            delete_file=False,
            weights_only=True,
        )
        assert state["weight"].sum().item() == 499500
    assert handler.ranges == [None]
    assert [path.name for path in (tmp_path / "cache").iterdir()] == [f"net-{digits}.pt"]


def test_wrong_content_is_removed(server, tmp_path: Path) -> None:
    _, address = server
    with pytest.raises(RuntimeError, match="SHA-256"):
        flow.hub.load_state_dict_from_url(
            f"{address}/net-00000000.pt",
            model_dir=tmp_path / "cache",
            check_hash=True,
            progress=False,
        )
    assert not list((tmp_path / "cache").iterdir())


def test_download_goes_on_where_it_broke_off(server, tmp_path: Path) -> None:
    handler, address = server
    handler.break_after = 1000
    target = tmp_path / "cache" / "net.pt"
    with pytest.raises(ConnectionError, match="try again"):
        flow.hub.download_url_to_file(f"{address}/net.pt", target, progress=False)
    assert not target.exists()
    handler.break_after = None
    flow.hub.download_url_to_file(f"{address}/net.pt", target, progress=False)
    assert target.read_bytes() == handler.content
    assert handler.ranges == [None, "bytes=1000-"]


@pytest.mark.parametrize("obeys_if_range", [True, False])
@pytest.mark.parametrize("tag", ['"2"', 'W/"1"', None])
@pytest.mark.parametrize("size", [10, 1000, 5000])
def test_versions_of_a_file_are_not_mixed(server, tmp_path, obeys_if_range, tag, size) -> None:
    handler, address = server
    handler.break_after, handler.obeys_if_range = 1000, obeys_if_range
    target = tmp_path / "net.pt"
    with pytest.raises(ConnectionError, match="try again"):
        flow.hub.download_url_to_file(f"{address}/net.pt", target, progress=False)
    handler.break_after, handler.tag, handler.content = None, tag, b"x" * size
    flow.hub.download_url_to_file(f"{address}/net.pt", target, progress=False)
    assert target.read_bytes() == handler.content
    assert sorted(path.name for path in tmp_path.iterdir()) == ["net.pt", "weights.pt"]


def test_nothing_is_continued_without_a_version(server, tmp_path: Path) -> None:
    handler, address = server
    handler.break_after, handler.tag = 1000, None
    with pytest.raises(ConnectionError, match="try again"):
        flow.hub.download_url_to_file(f"{address}/net.pt", tmp_path / "net.pt", progress=False)
    assert [path.name for path in tmp_path.iterdir()] == ["weights.pt"]


def test_another_address_is_another_file(server, tmp_path: Path) -> None:
    handler, address = server
    handler.break_after = 1000
    for name in ("a", "b"):
        with pytest.raises(ConnectionError, match="try again"):
            flow.hub.download_url_to_file(f"{address}/{name}", tmp_path / "net", progress=False)
    assert handler.ranges == [None, None]


@pytest.mark.parametrize("has_locks", [True, False])
def test_simultaneous_downloads(server, tmp_path: Path, monkeypatch, has_locks) -> None:
    handler, address = server
    if not has_locks:
        monkeypatch.setattr(fcntl, "flock", refused)
    folder = tmp_path / "cache"

    def load(_: int) -> float:
        state = flow.hub.load_state_dict_from_url(f"{address}/a.pt", folder, progress=False)
        return state["weight"].sum().item()

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(load, range(16))) == {499500.0}
    assert len(handler.ranges) == 1 or not has_locks
    assert [path.name for path in folder.iterdir()] == ["a.pt"]


def test_a_file_that_comes_between_the_look_and_the_download_is_kept(
    server, tmp_path: Path, monkeypatch
) -> None:
    handler, address = server
    exists = Path.exists

    def exists_then_appears(path: Path, **options: bool) -> bool:
        was_there = exists(path, **options)
        if path.name == "a.pt" and not was_there:
            path.write_bytes(handler.content)
        return was_there

    monkeypatch.setattr(Path, "exists", exists_then_appears)
    flow.hub.load_state_dict_from_url(f"{address}/a.pt", tmp_path, progress=False)
    assert handler.ranges == []


def refused(*_: object) -> None:
    """Stand for a file system without locks."""
    raise OSError(errno.ENOLCK, "No locks available")


PROGRAM = """
import sys, oneflow as flow
state = flow.hub.load_state_dict_from_url(sys.argv[1], sys.argv[2], progress=False)
print(state["weight"].sum().item())
"""


@pytest.mark.multiprocess
def test_simultaneous_downloads_of_processes(server, tmp_path: Path) -> None:
    handler, address = server
    command = [sys.executable, "-c", PROGRAM, f"{address}/a.pt", str(tmp_path / "cache")]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    assert [process.communicate()[0].strip() for process in processes] == ["499500.0"] * 3
    assert handler.ranges == [None]


def test_unpacking_replaces_files_at_once(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "b").write_text("whole")
    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        archive.add(tmp_path / "a", "a")
    extract_archive(tmp_path / "a.tar", tmp_path / "to")
    with (tmp_path / "to" / "a" / "b").open() as file:
        extract_archive(tmp_path / "a.tar", tmp_path / "to")
        # The second run has not written to the file that is open, but put another in its place.
        assert file.read() == "whole"
        inode = os.fstat(file.fileno()).st_ino
    assert inode != (tmp_path / "to" / "a" / "b").stat().st_ino
    assert [path.name for path in (tmp_path / "to").iterdir()] == ["a"]


def test_download_that_was_whole_but_not_renamed(server, tmp_path: Path) -> None:
    handler, address = server
    (tmp_path / "net.pt.partial").write_bytes(handler.content)
    flow.hub.download_url_to_file(f"{address}/net.pt", tmp_path / "net.pt", progress=False)
    assert (tmp_path / "net.pt").read_bytes() == handler.content


def test_offline(tmp_path: Path) -> None:
    with pytest.raises(ConnectionError, match=r"cannot download .* put the file to .*net\.pt"):
        flow.hub.load_state_dict_from_url("http://127.0.0.1:1/net.pt", model_dir=tmp_path)
