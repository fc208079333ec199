"""Model folders that `export` writes; both servers read them."""

import numpy as np
import pytest

from tests.serving.helpers import save_affine, serving

X = np.ones((1, 3), np.float32)


def run(*arguments):
    """The command of the server."""
    from oneflow.serving.command_line import main

    main(list(map(str, arguments)))


def test_a_graph_goes_into_a_repository(tmp_path, capsys):
    repository = tmp_path / "models"
    run("export", save_affine(tmp_path / "graph", scale=1.0), repository / "affine")
    run("export", save_affine(tmp_path / "graph", scale=2.0), repository / "affine")
    assert capsys.readouterr().out.split() == [str(repository / "affine" / n) for n in "12"]
    text = (repository / "affine" / "config.pbtxt").read_text()
    for line in ('name: "affine"', 'backend: "oneflow"', "max_batch_size: 8", "TYPE_FP32"):
        assert line in text
    with serving(repository) as server:
        assert server.values("affine", {"x": X}).tolist() == [[3, 3, 3]]
        assert server.get("/v2/models/affine")["versions"] == ["2"]


def test_an_edited_configuration_stays(tmp_path):
    graph = save_affine(tmp_path / "graph")
    run("export", graph, tmp_path / "affine")
    config = tmp_path / "affine" / "config.pbtxt"
    config.write_text(config.read_text().replace("max_batch_size: 8", "max_batch_size: 4"))
    run("export", graph, tmp_path / "affine", "--version", "7")
    assert "max_batch_size: 4" in config.read_text()
    assert (tmp_path / "affine" / "7" / "program.json").exists()


def test_what_cannot_be_exported_leaves_nothing(tmp_path):
    graph = save_affine(tmp_path / "graph")
    run("export", graph, tmp_path / "affine")
    with pytest.raises(SystemExit, match="another version"):
        run("export", graph, tmp_path / "affine", "--version", "1")
    with pytest.raises(SystemExit, match="no saved graph"):
        run("export", tmp_path / "nothing", tmp_path / "other")
    assert not (tmp_path / "other").exists()
    save_affine(tmp_path / "wide", columns=5)
    with pytest.raises(SystemExit, match="the configuration of `affine`"):
        run("export", tmp_path / "wide", tmp_path / "affine")
    assert {path.name for path in (tmp_path / "affine").iterdir()} == {"1", "config.pbtxt"}


def test_the_backend_is_one_file(tmp_path):
    run("backend", tmp_path)
    assert "class TritonPythonModel" in (tmp_path / "oneflow" / "model.py").read_text()
