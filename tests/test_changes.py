"""The changes of the source select the cases that check them."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests import changes as changes_module, whole_runs
from tests.changed_code import changed_names
from tests.changes import (
    ROOT,
    Changes,
    changed_definitions,
    changes_since,
    git,
    pack_changes,
    part_of,
    recorded_commits,
    texts_at,
)
from tests.conftest import (
    SAMPLE,
    Budget,
    pytest_collection_modifyitems,
    pytest_configure,
    pytest_configure_node,
)
from tests.samples.table import Operator, operators
from tests.sampling import Sample
from tests.scheduling import CHANGED, CHANGED_ELSEWHERE

OPERATORS = "src/oneflow/primitives/operators"
ROWS = {row.name: row for _, row in operators()}


def changes_at(path: str, text: str, new: str) -> Changes:
    """Return the changes if other text stands in the first place of a text."""
    before = (ROOT / path).read_text(encoding="utf-8")
    assert text in before
    names = changed_names(before, before.replace(text, new, 1))
    return Changes({} if names is None else {path: names})


def chosen_rows(changes: Changes, path: str = "laws/test_operators.py") -> set[str]:
    return {name for name, row in ROWS.items() if changes.concern(path, "test_values", [row])}


def chosen_laws(changes: Changes) -> set[str]:
    """Return the files of laws of which a test depends on what has changed."""
    return {
        path.name.removeprefix("test_").removesuffix(".py")
        for path in (ROOT / "tests/laws").glob("test_*.py")
        for test in re.findall(r"^def (test_\w+)", path.read_text(encoding="utf-8"), re.MULTILINE)
        if changes.concern(f"laws/{path.name}", test, [])
    }


@pytest.mark.parametrize(
    ("path", "text", "new", "affected", "unaffected"),
    [
        (f"{OPERATORS}/elementwise.py", "lambda out: 1 - out * out", "abs", "tanh", "acosh"),
        (f"{OPERATORS}/trigonometry.py", "# single precision in double", "#", None, None),
        (f"{OPERATORS}/windows.py", "The elements of `x` at each", "All at each", None, None),
        (f"{OPERATORS}/matmul.py", '"... k, n k -> ... n"', "None", "nn.functional.linear", "tanh"),
        (f"{OPERATORS}/scatter.py", "gather.gradient(", "gather.linear(", "gather", "tanh"),
        (
            f"{OPERATORS}/conv_cpu.py",
            ", (rows, rows)).T",
            ", rows)",
            "nn.functional.conv2d",
            "tanh",
        ),
        (
            f"{OPERATORS}/conv_cpu.py",
            "windows import MAX_KERNEL_SIZE, Windows",
            "patches import MAX_KERNEL_SIZE, Windows",
            "nn.functional.conv2d",
            "tanh",
        ),
        (f"{OPERATORS}/windows.py", "def gather(", "def take(", "nn.functional.max_pool2d", "tanh"),
        (
            "src/oneflow/functional/elementwise/logic.py",
            "tested(p.isnan",
            "tested(p.isinf",
            "isnan",
            "isinf",
        ),
        ("src/oneflow/primitives/traits.py", "class Traits", "class T", "tanh", None),
        (
            "src/oneflow_onnx/oneflow2onnx/lowerings/pooling.py",
            "def _max_pool(",
            "def _max(",
            "nn.functional.max_pool2d",
            "tanh",
        ),
    ],
)
def test_rows_that_depend_on_a_statement_are_chosen(
    path: str, text: str, new: str, affected: str | None, unaffected: str | None
) -> None:
    chosen = chosen_rows(changes_at(path, text, new))
    assert affected is None or affected in chosen
    assert unaffected is None or unaffected not in chosen
    assert (affected is None) == (not chosen)


def test_modules_that_are_gone_choose_what_uses_their_names() -> None:
    path = f"{OPERATORS}/gone.py"
    assert not chosen_rows(Changes({path: frozenset(["tanh"])}))
    names = changed_names("from oneflow.primitives.operators.gone import unary\n", "")
    assert names is not None
    assert "tanh" in chosen_rows(Changes({path: frozenset(), f"{OPERATORS}/elementwise.py": names}))


def test_laws_of_several_primitives_are_chosen_by_their_names() -> None:
    changes = changes_at(f"{OPERATORS}/matmul.py", '"... k, n k -> ... n"', "None")
    assert changes.concern("laws/test_axes.py", "test_", [("linear", "linear_no_bias")])
    assert not changes.concern("laws/test_axes.py", "test_", [("tanh", "tan")])
    # The builder of functions of one number defines these beside them.
    changes = changes_at(f"{OPERATORS}/trigonometry.py", "atan = unary(", "atan = primitive(")
    assert changes.concern("laws/test_linearity.py", "test_", [("atan_gradient",)])


@pytest.mark.parametrize(
    ("path", "text", "new", "affected", "unaffected"),
    [
        # Functions that laws share.
        ("tests/laws/special_points.py", "def special_cases(", "def c(", "special_points", "axes"),
        ("tests/laws/parts.py", "def share_of(", "def share(", "signatures", "special_points"),
        ("tests/laws/recording.py", "class RecordedProgram", "class R", "axes", "special_points"),
        # One law that another imports something else of.
        (
            "tests/laws/test_operators.py",
            "def test_variants_agree(",
            "def test_v(",
            None,
            "other_dtypes",
        ),
        # Helpers of tests.
        ("tests/oracle.py", "def _converted(", "def c(", "operators", "keyword_calls"),
        ("tests/oracle.py", '"""', '"""Oracle: ', None, "operators"),
        ("tests/samples/table.py", "def operators(", "def o(", "signatures", "global_modules"),
        ("tests/nn/twins.py", "def weighted_sum(", "def w(", "global_modules", "operators"),
        # Parts that operators have in common.
        ("src/oneflow/primitives/sharding/axes.py", '"""The names', '"""Names', None, "axes"),
        # Single operators choose cases by name.
        (f"{OPERATORS}/norm.py", "attach_moments = ", "moments = ", None, "signatures"),
    ],
)
def test_laws_that_use_a_statement_are_chosen(
    path: str, text: str, new: str, affected: str | None, unaffected: str
) -> None:
    chosen = chosen_laws(changes_at(path, text, new))
    assert affected is None or affected in chosen
    assert unaffected not in chosen


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("sharding/axes.py", "def reshaped_axes("),
        ("sharding/boxing_path.py", "def boxing_path("),
        ("sharding/collectives.py", "class Collective"),
        ("sharding/signatures.py", "def candidates("),
        ("operation.py", "class Operation"),
        ("registry.py", "class Primitive"),
        ("trace.py", "class Trace"),
    ],
)
def test_laws_of_the_public_api_are_chosen_by_what_all_operators_go_through(
    path: str, text: str
) -> None:
    laws = {
        "global_modules",
        "global_operators",
        "modules_in_graphs",
        "operators",
        "operators_in_graphs",
        "random_programs",
        "signatures",
    }
    path = f"src/oneflow/primitives/{path}"
    assert chosen_laws(changes_at(path, text, text + "_")) >= laws
    assert not chosen_laws(changes_at(path, text, f"# A comment.\n{text}"))


def test_cases_of_what_has_changed_itself_are_told_from_others() -> None:
    axes, scatter = "src/oneflow/primitives/sharding/axes.py", f"{OPERATORS}/scatter.py"
    changes = Changes({axes: frozenset(["reshaped_axes"]), scatter: frozenset(["gather"])})
    path = "laws/test_operators.py"
    assert chosen_rows(changes) >= {"gather", "tanh"}
    assert changes.are_direct(path, [ROWS["gather"]])
    assert changes.are_direct("laws/test_axes.py", [("gather",)])
    assert not changes.are_direct(path, [ROWS["tanh"]])
    assert not changes.are_direct("laws/test_global_modules.py", [])
    changes = Changes({f"tests/{path}": frozenset(["test_values"]), axes: frozenset(["axes_of"])})
    assert changes.are_direct(path, [ROWS["tanh"]])
    assert not changes.are_direct("laws/test_other_dtypes.py", [ROWS["tanh"]])
    assert changes.are_direct("global_view/test_boxing.py", [])


GROUPS = (CHANGED, CHANGED_ELSEWHERE)


class Case:
    """A case of a law, as far as the order of cases needs it."""

    def __init__(self, law: str, row: str) -> None:
        self.path = ROOT / "tests/laws" / law
        self.location = (f"tests/laws/{law}", 0, "")
        self.name = f"test_values[{row}]"
        self.originalname = "test_values"
        self.callspec = SimpleNamespace(params={"row": ROWS[row]})
        self.stash = pytest.Stash()
        self.group = ""

    def iter_markers(self, name: str) -> list[pytest.Mark]:
        return []

    def get_closest_marker(self, name: str) -> None:
        return None

    def add_marker(self, marker: pytest.MarkDecorator) -> None:
        self.group = marker.args[0]


def test_what_has_changed_itself_comes_first(
    monkeypatch: pytest.MonkeyPatch, pytestconfig: pytest.Config
) -> None:
    """Otherwise cases of the first files use up the time for those of later ones."""
    axes, scatter = "src/oneflow/primitives/sharding/axes.py", f"{OPERATORS}/scatter.py"
    changes = Changes({axes: frozenset(["reshaped_axes"]), scatter: frozenset(["gather"])})
    monkeypatch.setattr("tests.conftest.changes_since", lambda commit: changes)
    stash = pytest.Stash()
    stash[SAMPLE] = Sample(0)
    config: Any = SimpleNamespace(stash=stash, hook=pytestconfig.hook)
    laws = ["test_operators.py", "test_other_dtypes.py"]
    items: Any = [Case(law, row) for law in laws for row in ("tanh", "abs", "gather")]
    pytest_collection_modifyitems(config, items)
    assert [item.name for item in items[:2]] == ["test_values[gather]"] * 2
    assert {item.location[0] for item in items[:2]} == {f"tests/laws/{law}" for law in laws}
    # Files run as a whole in one process; these are work of its own.
    files = [f"tests/laws/{law}" for law in laws]
    direct, others = [[f"{prefix}{file}" for file in files] for prefix in GROUPS]
    assert [item.group for item in items] == [*direct, *others[:1] * 2, *others[1:] * 2]


def test_laws_that_read_a_file_of_data_are_chosen() -> None:
    assert chosen_laws(Changes({"tests/laws/special_points.tsv": frozenset()})) == {
        "special_points"
    }
    assert "keyword_calls" in chosen_laws(Changes({"tests/laws/keyword_calls.txt": frozenset()}))


def test_a_fixture_chooses_the_laws_that_take_it() -> None:
    path = ROOT / "tests/laws/test_linearity.py"
    fixture = re.search(r"@pytest.fixture\(scope=.module.\)\ndef (\w+)", path.read_text("utf-8"))
    assert fixture is not None
    changes = Changes({"tests/laws/test_linearity.py": frozenset([fixture[1]])})
    assert chosen_laws(changes) == {"linearity"}


@pytest.mark.parametrize(
    ("before", "after", "names"),
    [
        ("x = 1\n", "x = 1  # one\n", None),
        ('def f():\n    """One."""\n    return 1\n', "def f():\n    return 1\n", None),
        ("x = 1\ny = 2\n", "# Two\n\ny = 2\nx = (\n    1\n)\n", None),
        ("x = 1\ny = 2\n", "x = 1\ny = 3\n", {"y"}),
        ("f = g()\nf.gradient(None)\n", "f = g()\n", {"f"}),
        ("from a import b, c\n", "from a import (\n    b,\n    c,\n    d,\n)\n", {"import d"}),
        ("from a import b, c\n", "from a import b\nfrom e import c\n", {"import c"}),
        (None, "x = 1\n", {"x"}),
        ("x = 1\n", None, {"x"}),
        ("", None, set()),
    ],
)
def test_names_of_changed_statements(
    before: str | None, after: str | None, names: set[str] | None
) -> None:
    assert changed_names(before, after) == names


def test_other_code_is_checked_by_its_room() -> None:
    changes = Changes({"src/oneflow/passes/dead_code.py": frozenset()})
    assert changes.concern("passes/test_pass_texts.py", "test_", [])
    assert not changes.concern("optim/test_laws.py", "test_", [])
    changes = Changes({"tests/optim/test_laws.py": frozenset()})
    assert changes.concern("optim/test_laws.py", "test_", [])
    assert not changes.concern("optim/test_muon.py", "test_", [])


def test_changed_samples_are_run() -> None:
    changes = Changes({"tests/samples/scattering.py": frozenset()})
    families = {
        name: {row.name for family, row in operators() if family == name}
        for name in ("scattering", "unary")
    }
    assert chosen_rows(changes) >= families["scattering"]
    assert not chosen_rows(changes) & (families["unary"] - families["scattering"])


@pytest.mark.parametrize("processes", [1, 2, 16])
def test_all_processes_of_a_run_share_one_budget(
    processes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTEST_XDIST_WORKER_COUNT", str(processes))
    assert Budget().seconds * processes == Budget.RUN_SECONDS


def test_without_the_history_nothing_has_changed() -> None:
    assert changed_definitions("0" * 40) == {}


def test_files_of_a_commit_are_read_by_one_process(monkeypatch: pytest.MonkeyPatch) -> None:
    if git("rev-parse", "HEAD") is None:
        pytest.skip("the sources are not in a repository")
    run, commands = subprocess.run, []
    monkeypatch.setattr(
        subprocess, "run", lambda args, **options: commands.append(args) or run(args, **options)
    )
    paths = ["tests/__init__.py", "tests/gone.py", "tests/changed_code.py", "README.md"]
    texts = texts_at("HEAD", paths)
    assert len(commands) == 1
    monkeypatch.undo()
    assert texts == {path: git("show", f"HEAD:{path}") for path in paths if "gone" not in path}


def test_processes_take_changes_that_the_first_one_has_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Dependencies and syntax trees cost seconds of each process."""
    names = {f"{OPERATORS}/scatter.py": frozenset(["gather"])}
    monkeypatch.setattr(changes_module, "_CHANGES", {})
    monkeypatch.setattr(changes_module, "changed_definitions", lambda commit: names)
    pack_changes.cache_clear()
    config: Any = SimpleNamespace(stash={SAMPLE: Sample(0)})
    node: Any = SimpleNamespace(config=config, workerinput={}, gateway=SimpleNamespace(id="gw0"))
    pytest_configure_node(node)
    pack_changes.cache_clear()
    monkeypatch.setattr(changes_module, "_CHANGES", {})
    monkeypatch.setattr(changes_module, "changed_definitions", lambda commit: 1 / 0)
    worker: Any = SimpleNamespace(
        option=SimpleNamespace(),
        getoption={"--exhaustive": False, "--sample-seed": 0}.get,
        stash=pytest.Stash(),
        workerinput=node.workerinput,
    )
    pytest_configure(worker)
    for commit in {*recorded_commits().values(), "HEAD"}:
        changes = changes_since(commit)
        assert changes is not None
        assert changes.concern("laws/test_operators.py", "test_values", [ROWS["gather"]])


def test_parts() -> None:
    assert part_of("laws/test_axes.py") == "laws/test_axes.py"
    assert part_of("graph/test_training.py") == "graph"
    assert part_of("test_smoke.py") == "test_smoke.py"
    assert whole_runs.parts("graph") == ["graph"]
    assert "laws/test_axes.py" in whole_runs.parts("laws")
    assert {"graph", "test_changes.py"} <= set(whole_runs.parts())
    assert isinstance(ROWS["tanh"], Operator)
    assert Path(__file__).name in whole_runs.parts()


def test_a_part_that_was_stopped_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    part, tried = "laws/test_operators.py", []
    tests = whole_runs.tests_of(part)
    assert f"tests/{part}::test_" in tests[0]
    assert len(tests) > 2
    assert whole_runs.tests_of("graph") == ["tests/graph"]

    def run(command: list[str], **options: Any) -> subprocess.CompletedProcess:
        tried.append(command[-1])
        if len(tried) == 2:
            raise KeyboardInterrupt
        return subprocess.CompletedProcess(command, int(len(tried) == 3))

    monkeypatch.setattr(whole_runs, "PASSED", tmp_path / "passed")
    monkeypatch.setattr(whole_runs.subprocess, "run", run)
    with pytest.raises(KeyboardInterrupt):
        whole_runs.run_part(part, "commit")
    assert not whole_runs.run_part(part, "commit")
    assert whole_runs.run_part(part, "commit")
    assert tried == [*tests[:2], *tests[1:], tests[1]]
    monkeypatch.setattr(whole_runs, "git", lambda *arguments: None)
    assert whole_runs.passed_before("commit") == set(tests)
    assert whole_runs.passed_before("another one") == set()
