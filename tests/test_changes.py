"""The changes of the source select the cases that check them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.changes import ROOT, Changes, changed_lines, part_of
from tests.samples.table import Operator, operators
from tests.whole_runs import parts

OPERATORS = "src/oneflow/primitives/operators"
ROWS = {row.name: row for _, row in operators()}


def changes_at(path: str, text: str) -> Changes:
    """Return the changes if the first line with a text has changed."""
    lines = (ROOT / path).read_text(encoding="utf-8").splitlines()
    number = next(number for number, line in enumerate(lines, 1) if text in line)
    return Changes({path: frozenset([number])})


def chosen_rows(changes: Changes, room: str = "laws/test_operators.py") -> set[str]:
    return {name for name, row in ROWS.items() if changes.concern(room, [row])}


@pytest.mark.parametrize(
    ("path", "text", "affected", "unaffected"),
    [
        (f"{OPERATORS}/elementwise.py", "jnp.tanh, lambda out", "tanh", "acosh"),
        (f"{OPERATORS}/trigonometry.py", "# single precision in double", None, None),
        (f"{OPERATORS}/matmul.py", '"linear_no_bias",', "nn.functional.linear", "tanh"),
        (f"{OPERATORS}/scatter.py", "gather.gradient(", "gather", "tanh"),
        (f"{OPERATORS}/conv_cpu.py", "def _outer(", "nn.functional.conv2d", "tanh"),
        (f"{OPERATORS}/conv_cpu.py", "operators.windows import", "nn.functional.conv2d", "tanh"),
        (f"{OPERATORS}/windows.py", "def gather(", "nn.functional.max_pool2d", "tanh"),
        ("src/oneflow/functional/elementwise/logic.py", "def isnan(", "isnan", "isinf"),
        (
            "src/oneflow_onnx/oneflow2onnx/lowerings/pooling.py",
            "def _max_pool(",
            "nn.functional.max_pool2d",
            "tanh",
        ),
    ],
)
def test_rows_that_depend_on_a_line_are_chosen(
    path: str, text: str, affected: str | None, unaffected: str | None
) -> None:
    chosen = chosen_rows(changes_at(path, text))
    assert affected is None or affected in chosen
    assert unaffected is None or unaffected not in chosen
    assert (affected is None) == (not chosen)


def test_laws_of_several_primitives_are_chosen_by_their_names() -> None:
    changes = changes_at(f"{OPERATORS}/matmul.py", "linear_no_bias = primitive(")
    assert changes.concern("laws/test_axes.py", [("linear", "linear_no_bias")])
    assert not changes.concern("laws/test_axes.py", [("tanh", "tan")])
    # The builder of functions of one number defines these beside them.
    changes = changes_at(f"{OPERATORS}/trigonometry.py", "atan = unary(")
    assert changes.concern("laws/test_linearity.py", [("atan_gradient",)])


def test_other_code_is_checked_by_its_room() -> None:
    changes = Changes({"src/oneflow/passes/dead_code.py": frozenset([3])})
    assert changes.concern("passes/test_pass_texts.py", [])
    assert not changes.concern("optim/test_laws.py", [])
    changes = Changes({"tests/optim/test_laws.py": frozenset([3])})
    assert changes.concern("optim/test_laws.py", [])
    assert not changes.concern("optim/test_muon.py", [])


def test_changed_samples_are_run() -> None:
    changes = Changes({"tests/samples/scattering.py": frozenset([3])})
    families = {
        name: {row.name for family, row in operators() if family == name}
        for name in ("scattering", "unary")
    }
    assert chosen_rows(changes) >= families["scattering"]
    assert not chosen_rows(changes) & (families["unary"] - families["scattering"])


def test_without_the_history_nothing_has_changed() -> None:
    assert changed_lines("0" * 40) == {}


def test_parts() -> None:
    assert part_of("laws/test_axes.py") == "laws/test_axes.py"
    assert part_of("graph/test_training.py") == "graph"
    assert part_of("test_smoke.py") == "test_smoke.py"
    assert parts("graph") == ["graph"]
    assert "laws/test_axes.py" in parts("laws")
    assert {"graph", "test_changes.py"} <= set(parts())
    assert isinstance(ROWS["tanh"], Operator)
    assert Path(__file__).name in parts()
