"""Writes to detached views that show elements of their memory several times, against PyTorch."""

from __future__ import annotations

import warnings

import pytest
import torch

import oneflow as flow

# Views whose elements overlap, by name.
VIEWS = {
    "unfold": ("lib.arange(4.0)", "a.unfold(0, 2, 1)"),
    "unfold of a part": ("lib.arange(5.0)", "a[1:].unfold(0, 2, 1)"),
    "part of unfold": ("lib.arange(5.0)", "a.unfold(0, 2, 1)[1:]"),
    "as_strided": ("lib.arange(6.0)", "a.as_strided((2, 3), (1, 1))"),
    "expand": ("lib.arange(2.0).reshape(2, 1)", "a.expand(2, 3)"),
    "expand twice": ("lib.arange(1.0)", "a.expand(3)[:, None].expand(3, 2)"),
}
# PyTorch adds several times where an element is seen several times; the order decides.
WRITES = """
y[0] = 9
y[-1, -1] = 9
y[0, 1] = 5
y[0, 1] += 1
y[1][0] = 3
y[:, 1] = 8
y.t()[1] = 4
z = y[0]; z[1] = 7
y.detach()[0, 1] = 5
y.fill_(2)
y.zero_()
y[y > 1] = 7
y.masked_fill_(y > 1, 0)
y.index_fill_(0, lib.tensor([0]), 6.0)
y.copy_(y.clone() * 3)
"""


def outcome(lib, code):
    """The memory and the view afterwards; the kind of an error."""
    names = {"lib": lib}
    try:
        exec(code, names)
    except RuntimeError as error:
        return "more than one element" in str(error)
    return names["a"].tolist(), names["y"].tolist()


@pytest.mark.parametrize("way", ["{}.detach()", "{}.data", "{}"])
@pytest.mark.parametrize("view", VIEWS)
def test_writes_change_the_memory(view, way):
    made, shown = VIEWS[view]
    for write in WRITES.strip().splitlines():
        code = f"a = {made}; y = {way.format(shown)}; {write}"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # PyTorch's, of such writes
            expected = outcome(torch, code)
        assert outcome(flow, code) == expected, code


def test_writes_that_would_lose_gradients_are_refused():
    base = flow.arange(4.0)
    view = base.unfold(0, 2, 1).detach()
    with pytest.raises(RuntimeError, match="shows elements several times"):
        view[0, 1] = flow.ones((), requires_grad=True)
    with flow.no_grad():
        view[0, 1] = flow.ones((), requires_grad=True) * 7
    assert base.tolist() == [0, 7, 2, 3]
    assert view.tolist() == [[0, 7], [7, 2], [2, 3]]
