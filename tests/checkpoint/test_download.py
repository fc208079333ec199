"""Downloads of weights: whole, cut off, wrong, and offline."""

from __future__ import annotations

import hashlib
import http.server
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import oneflow as flow


class _Server(http.server.BaseHTTPRequestHandler):
    content = b""
    break_after: int | None = None
    ranges: list[str | None]

    def do_GET(self) -> None:
        asked = self.headers.get("Range")
        self.ranges.append(asked)
        start = int(asked.removeprefix("bytes=").rstrip("-")) if asked else 0
        if start >= len(self.content):
            self.send_error(416)
            return
        self.send_response(206 if asked else 200)
        self.send_header("Content-Length", str(len(self.content) - start))
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
    assert [each.name for each in (tmp_path / "cache").iterdir()] == [f"net-{digits}.pt"]


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


def test_download_that_was_whole_but_not_renamed(server, tmp_path: Path) -> None:
    handler, address = server
    (tmp_path / "net.pt.partial").write_bytes(handler.content)
    flow.hub.download_url_to_file(f"{address}/net.pt", tmp_path / "net.pt", progress=False)
    assert (tmp_path / "net.pt").read_bytes() == handler.content


def test_offline(tmp_path: Path) -> None:
    with pytest.raises(ConnectionError, match=r"cannot download .* put the file to .*net\.pt"):
        flow.hub.load_state_dict_from_url("http://127.0.0.1:1/net.pt", model_dir=tmp_path)
