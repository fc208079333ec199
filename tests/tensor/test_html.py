"""Displays of tensors, placements and graphs in notebooks."""

from __future__ import annotations

import base64
import re

import pytest

import oneflow as flow
from oneflow import nn

PAIR = flow.placement("cpu", [0, 1])
GRID = flow.placement("cpu", [[0, 1], [2, 3]])
S, B, P = flow.sbp.split, flow.sbp.broadcast, flow.sbp.partial_sum
# Placement, SBP, and what is written for each rank of a tensor of shape (5, 4).
LAYOUTS = [
    (PAIR, B, ["all", "all"]),
    (PAIR, S(0), ["[0:3, :]", "[3:5, :]"]),
    (PAIR, S(1), ["[:, 0:2]", "[:, 2:4]"]),
    (PAIR, P, ["summand of all", "summand of all"]),
    (GRID, [S(0), S(1)], ["[0:3, 0:2]", "[0:3, 2:4]", "[3:5, 0:2]", "[3:5, 2:4]"]),
    (GRID, [P, S(1)], ["summand of [:, 0:2]", "summand of [:, 2:4]"] * 2),
]


@pytest.mark.parametrize(("placement", "sbp", "parts"), LAYOUTS)
def test_tensors_show_which_rank_has_which_part(placement, sbp, parts):
    x = flow.ones(5, 4, placement=placement, sbp=sbp)
    text = x._repr_html_()
    assert re.findall(r"rank (\d+)<br>([^<]+)<", text) == [
        (str(rank), part) for rank, part in enumerate(parts)
    ]
    assert text.count("<tr>") == placement.ranks.reshape(-1, 2).shape[0]


def test_parts_are_those_that_ranks_have():
    x = flow.arange(10).to_global(PAIR, S(0))
    (first, _) = re.findall(r"\[(\d+):(\d+)\]", x._repr_html_().partition("</pre>")[2])
    assert x.to_local().tolist() == list(range(*map(int, first)))


def test_values_are_shown_and_escaped():
    x = (flow.ones(2, requires_grad=True) * 2).to_global(PAIR, B)
    text = x._repr_html_()
    assert "tensor([2., 2.]" in text
    assert "grad_fn=&lt;" in text


def test_tensors_of_one_device_are_shown_as_text():
    assert flow.ones(2)._repr_html_() is None


def test_placements():
    text = GRID._repr_html_()
    assert re.findall(r"rank (\d)", text) == ["0", "1", "2", "3"]
    assert "cpu, 2 x 2" in text


def test_graphs_show_their_figure(tmp_path):
    class Double(nn.Graph):
        def build(self, x):
            return 2 * x

    graph = Double()
    assert graph._repr_html_() is None
    graph(flow.ones(2))
    graph.draw(tmp_path / "graph.svg")
    (data,) = re.findall(r'base64,([^"]+)"', graph._repr_html_())
    assert base64.b64decode(data) == (tmp_path / "graph.svg").read_bytes()
