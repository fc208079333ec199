"""Sizes that no machine has give a result without values, or one clear error at once."""

import json
import subprocess
import sys

import pytest

import oneflow as flow
from oneflow.tuning.host_memory import require_host_memory
from tests.laws import large_sizes

# Seconds that a row may take; the machine may be busy with other tests.
SECONDS = 2.5
# Beginnings of errors of NumPy, JAX, XLA and Python that do not say what to do.
FOREIGN = (
    "Unable to allocate",
    "array is too big",
    "Maximum allowed",
    "negative dimensions",
    "Python int too large",
    "RESOURCE_EXHAUSTED",
    "cannot fit",
)


def outcomes():
    """What came of each row: the kind and text of an error or None, and seconds; None if no end."""
    found = {}
    first = 0
    while first < len(large_sizes.ROWS):
        command = [sys.executable, large_sizes.__file__, str(first)]
        output = subprocess.run(command, capture_output=True, text=True, check=False)
        lines = [json.loads(line) for line in output.stdout.splitlines()]
        assert lines, output.stderr
        for number, *rest in lines:
            found[number] = rest or None
        first = lines[-1][0] + 1
    return found


def fault_of(row):
    """What is wrong with an outcome, or None."""
    if row is None:
        return "the process ended, or had to be ended"
    error, seconds = row
    if seconds > SECONDS:
        return f"took {seconds:.1f} s"
    if error is None:
        return None
    kind, text = error
    is_clear = kind not in ("MemoryError", "_ArrayMemoryError", "OverflowError", "XlaRuntimeError")
    return None if is_clear and text and not text.startswith(FOREIGN) else f"{kind}: {text}"


def test_every_size_is_answered_at_once():
    """A large size has a result, or an error of ours, within a little memory and time."""
    found = outcomes()
    faults = {large_sizes.ROWS[number]: fault_of(row) for number, row in found.items()}
    assert len(found) == len(large_sizes.ROWS)
    assert {row: fault for row, fault in faults.items() if fault} == {}


@pytest.mark.parametrize("size", large_sizes.SIZES[:2])
def test_tensors_without_values_have_any_size(size):
    """What is not computed on this machine need not fit into its memory."""
    assert flow.zeros(size, device="meta").sum().shape == ()
    assert flow.nn.Linear(size, 1, device="meta").weight.shape == (1, size)
    assert flow.ones(1).expand(size).shape == (size,)
    assert flow.nn.functional.pad(flow.zeros(1, device="meta"), (size, 0)).shape == (size + 1,)


def test_matrices_with_a_long_side_have_singular_values():
    """What singular values need grows with the matrix, not with the square of its longer side."""
    wide = flow.ones(3, 2**20)
    expected = (3 * 2**20) ** 0.5
    for matrix in (wide, wide.mT):
        assert flow.linalg.svdvals(matrix)[0].item() == pytest.approx(expected, rel=1e-2)
        assert flow.linalg.norm(matrix, 2).item() == pytest.approx(expected, rel=1e-2)
        assert flow.linalg.norm(matrix, "nuc").item() == pytest.approx(expected, rel=1e-2)
        assert flow.linalg.matrix_rank(matrix).item() == 1


def test_a_table_that_does_not_fit_is_refused_before_it_is_made():
    """The error names the operator, the sizes, and what to do."""
    require_host_memory("table", 2**20)
    with pytest.raises(flow.OutOfMemoryError, match=r"`table` needs .* check the sizes given"):
        require_host_memory("table", 2**60)
