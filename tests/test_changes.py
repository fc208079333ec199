"""The changes of the source select the cases that check them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.changed_code import changed_names
from tests.changes import ROOT, Changes, changed_definitions, part_of
from tests.conftest import Budget
from tests.samples.table import Operator, operators
from tests.whole_runs import parts

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
        # Parts that operators have in common.
        (
            "src/oneflow/primitives/sharding/signatures.py",
            "def candidates(",
            "def c(",
            "signatures",
            "accuracy",
        ),
        ("src/oneflow/primitives/sharding/axes.py", "def axes_of(", "def a(", "axes", "accuracy"),
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


def test_parts() -> None:
    assert part_of("laws/test_axes.py") == "laws/test_axes.py"
    assert part_of("graph/test_training.py") == "graph"
    assert part_of("test_smoke.py") == "test_smoke.py"
    assert parts("graph") == ["graph"]
    assert "laws/test_axes.py" in parts("laws")
    assert {"graph", "test_changes.py"} <= set(parts())
    assert isinstance(ROWS["tanh"], Operator)
    assert Path(__file__).name in parts()
