"""Models from repositories: folders, and archives of a server in GitHub's place."""

from __future__ import annotations

import functools
import http.server
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import oneflow as flow
from oneflow.checkpoint import hub

CONF = '''
dependencies = ["numpy"]
from beside import SIZE

def layer(features=SIZE, **options):
    """A linear layer."""
    import oneflow as flow
    return flow.nn.Linear(features, 2, **options)

def _hidden():
    pass
'''


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A repository in a folder."""
    made = tmp_path / "repository"
    made.mkdir()
    (made / "hubconf.py").write_text(CONF)
    (made / "beside.py").write_text("SIZE = 3")
    return made


@pytest.fixture
def server(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A server with the archive of that repository; gives the archive's path."""
    archive = tmp_path / "files" / "main.zip"
    archive.parent.mkdir()
    with zipfile.ZipFile(archive, "w") as opened:
        for path in folder.iterdir():
            opened.write(path, f"name-main/{path.name}")
    handler = functools.partial(Quiet, directory=str(archive.parent))
    before = flow.hub.get_dir()
    flow.hub.set_dir(tmp_path / "cache")
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as httpd:
        threading.Thread(target=httpd.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{httpd.server_port}/{{ref}}.zip"
        monkeypatch.setattr(hub, "_ARCHIVE_URL", address)
        yield archive
        httpd.shutdown()
    flow.hub.set_dir(before)


class Quiet(http.server.SimpleHTTPRequestHandler):
    """A server of files that says nothing."""

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def test_models_of_a_folder(folder: Path) -> None:
    layer = flow.hub.load(folder, "layer", source="local", bias=False)
    assert layer.weight.shape == (2, 3)
    assert layer.bias is None


def test_models_of_a_repository_are_downloaded_once(server: Path) -> None:
    assert flow.hub.list("owner/name", trust_repo=True) == ["layer"]
    server.unlink()
    assert flow.hub.help("owner/name:main", "layer") == "A linear layer."
    assert flow.hub.load("owner/name", "layer", 5).weight.shape == (2, 5)
    with pytest.raises(ConnectionError):
        flow.hub.list("owner/name", force_reload=True)


def test_code_runs_only_if_it_is_trusted(server: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = iter(["n", "y"])
    monkeypatch.setattr("builtins.input", lambda _: next(answers))
    with pytest.warns(UserWarning, match="trust_repo=True"):
        flow.hub.list("owner/name")
    with pytest.raises(RuntimeError, match="not trusted"):
        flow.hub.list("owner/name", trust_repo="check")
    assert flow.hub.list("owner/name", trust_repo="check") == ["layer"]
    assert flow.hub.list("owner/name", trust_repo="check") == ["layer"]
    with pytest.raises(ValueError, match="trust_repo"):
        flow.hub.list("owner/name", trust_repo="maybe")


def test_bad_repositories(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="Unknown source"):
        flow.hub.load(folder, "layer", source="disk")
    with pytest.raises(ValueError, match="owner/name"):
        flow.hub.load("name", "layer")
    with pytest.raises(RuntimeError, match="it has layer"):
        flow.hub.load(folder, "_hidden", source="local")
    with pytest.raises(FileNotFoundError, match=r"hubconf\.py"):
        flow.hub.load(tmp_path, "layer", source="local")
    (folder / "hubconf.py").write_text("dependencies = ['no_such_package']")
    with pytest.raises(RuntimeError, match="no_such_package"):
        flow.hub.load(folder, "layer", source="local")
