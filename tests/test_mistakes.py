"""Ordinary mistakes: what PyTorch refuses is refused here, in words that name what is wrong."""

from __future__ import annotations

import sys

import pytest
import torch

import flowvision
import oneflow as flow
from oneflow.command_line.commands import main
from tests.global_and_graph_mistakes import GLOBALS, GRAPHS
from tests.newcomers_mistakes import FURTHER_MISTAKES
from tests.nn.twins import raised_by

# Each for either library `t`, with a word that our message must have.
MISTAKES = {
    "sum over a dimension that is not there": (lambda t: t.ones(2, 3).sum(2), "range"),
    "a misspelled argument": (lambda t: t.ones(2).sum(dims=0), "dims"),
    "shapes that do not broadcast": (lambda t: t.ones(2, 3) + t.ones(2, 4), "broadcast"),
    "matrices that do not fit": (lambda t: t.ones(2, 3) @ t.ones(2, 3), "3"),
    "a vector times a longer one": (lambda t: t.ones(2) @ t.ones(3), "3"),
    "bmm of matrices": (lambda t: t.bmm(t.ones(2, 3), t.ones(3, 2)), "3"),
    "reshape to another number": (lambda t: t.ones(2, 3).reshape(4), "6"),
    "view of what is not contiguous": (lambda t: t.ones(2, 3).t().view(6), "view"),
    "two unknown sizes": (lambda t: t.ones(2, 3).reshape(-1, -1), "-1"),
    "cat of other shapes": (lambda t: t.cat([t.ones(2, 3), t.ones(2, 4)]), "4"),
    "cat of nothing": (lambda t: t.cat([]), "empty|tensor"),
    "stack of other shapes": (lambda t: t.stack([t.ones(2), t.ones(3)]), "3"),
    "an index that is too large": (lambda t: t.ones(3)[3], "3"),
    "too many indices": (lambda t: t.ones(3)[0, 0], "indices"),
    "an index of floats": (lambda t: t.ones(3)[t.ones(1)], "float|index|indices"),
    "a mask of another size": (lambda t: t.ones(3)[t.ones(2) > 0], "2"),
    "gather by floats": (lambda t: t.ones(3).gather(0, t.ones(1)), "int64"),
    "item of two": (lambda t: t.ones(2).item(), "2|scalar|one element"),
    "truth of two": (lambda t: bool(t.ones(2)), "ambiguous"),
    "backward of two": (lambda t: t.ones(2, requires_grad=True).mul(2).backward(), "scalar"),
    "backward without grad": (lambda t: t.ones(1).backward(), "grad"),
    "backward twice": (
        lambda t: [y.backward() for y in [t.ones(1, requires_grad=True).exp()] * 2],
        "second time|retain_graph",
    ),
    "in place on a leaf": (lambda t: t.ones(1, requires_grad=True).add_(1), "leaf"),
    "in place on what backward needs": (
        lambda t: [(y := t.ones(1, requires_grad=True).exp()), y.add_(1), y.backward()],
        "inplace|in place",
    ),
    "grad of integers": (lambda t: t.ones(2, dtype=t.int64).requires_grad_(), "float"),
    "mean of integers": (lambda t: t.ones(2, dtype=t.int64).mean(), "float|dtype"),
    "division in place of integers": (lambda t: t.ones(2, dtype=t.int64).div_(2), "int64|Long"),
    "a tensor of ragged lists": (lambda t: t.tensor([[1, 2], [3]]), "length|equally"),
    "a tensor of text": (lambda t: t.tensor("a"), "str|number"),
    "negative size": (lambda t: t.ones(-1), "-1"),
    "squeeze of a dimension that is not there": (lambda t: t.ones(2).squeeze(3), "range"),
    "transpose of one that is not there": (lambda t: t.ones(2, 3).transpose(0, 2), "range"),
    "permute by too few": (lambda t: t.ones(2, 3).permute(0), "2"),
    "permute by one twice": (lambda t: t.ones(2, 3).permute(0, 0), "repeat|multiple"),
    "expand of a size that is not 1": (lambda t: t.ones(2, 3).expand(2, 4), "4"),
    "split into none": (lambda t: t.ones(2).split(-1), "-1|negative"),
    "chunk into none": (lambda t: t.ones(2).chunk(0), "0"),
    "unknown device": (lambda t: t.ones(2, device="gpux"), "gpux"),
    "unknown attribute of a module": (lambda t: t.nn.Linear(2, 2).weights, "weights"),
    "a layer of another width": (lambda t: t.nn.Linear(3, 2)(t.ones(1, 4)), "4"),
    "a layer of integers": (lambda t: t.nn.Linear(3, 2)(t.ones(1, 3, dtype=t.int64)), "dtype|type"),
    "negative padding": (
        lambda t: t.nn.functional.conv2d(t.ones(1, 1, 4, 4), t.ones(1, 1, 2, 2), padding=-1),
        "negative padding",
    ),
    "negative padding of a transposed convolution": (
        lambda t: t.nn.functional.conv_transpose2d(
            t.ones(1, 1, 4, 4), t.ones(1, 1, 2, 2), padding=-1
        ),
        "negative padding",
    ),
    "an image without channels": (lambda t: t.nn.Conv2d(3, 2, 3)(t.ones(8, 8)), "3"),
    "other channels": (lambda t: t.nn.Conv2d(3, 2, 3)(t.ones(1, 4, 8, 8)), "channels"),
    "a kernel larger than the image": (lambda t: t.nn.Conv2d(1, 1, 5)(t.ones(1, 1, 3, 3)), "5|3"),
    "groups that do not divide": (lambda t: t.nn.Conv2d(3, 4, 3, groups=2), "groups"),
    "one value per channel": (lambda t: t.nn.BatchNorm1d(2)(t.ones(1, 2)), "more than 1"),
    "an embedding of floats": (lambda t: t.nn.Embedding(3, 2)(t.ones(1)), "int|Int"),
    "classes as floats": (
        lambda t: t.nn.functional.nll_loss(t.ones(2, 3), t.ones(2)),
        "int64|Long|integer",
    ),
    "as many labels as rows": (
        lambda t: t.nn.functional.cross_entropy(t.ones(2, 3), t.zeros(3, dtype=t.int64)),
        "3",
    ),
    "heads that do not divide": (lambda t: t.nn.MultiheadAttention(5, 2), "divisible"),
    "an unknown reduction": (
        lambda t: t.nn.functional.mse_loss(t.ones(2), t.ones(2), reduction="total"),
        "total",
    ),
    "probability above 1": (lambda t: t.nn.Dropout(1.5), "1.5"),
    "a state with other shapes": (
        lambda t: t.nn.Linear(2, 2).load_state_dict(t.nn.Linear(3, 2).state_dict()),
        "weight",
    ),
    "a state without a name": (lambda t: t.nn.Linear(2, 2).load_state_dict({}), "weight"),
    "a parameter that is a tensor": (
        lambda t: setattr(t.nn.Linear(2, 2), "weight", t.ones(2, 2)),
        "Parameter",
    ),
    "a module before __init__": (
        lambda t: type("Net", (t.nn.Module,), {"__init__": _without_init(t)})(),
        "__init__",
    ),
    "an optimizer of a tensor": (lambda t: t.optim.SGD(t.ones(2), lr=0.1), "iterable|Tensor"),
    "an optimizer of a module": (lambda t: t.optim.SGD(t.nn.Linear(2, 2), lr=0.1), "parameters"),
    "a negative rate": (lambda t: t.optim.Adam([t.ones(1, requires_grad=True)], lr=-1), "-1"),
    "an inverse of what is not square": (lambda t: t.linalg.inv(t.ones(2, 3)), "square"),
    "an inverse that is not there": (
        lambda t: t.linalg.inv(t.zeros(2, 2)).sum().item(),
        "singular",
    ),
    "a random range that is empty": (lambda t: t.randint(3, 3, (2,)), "3"),
    "to a type that is none": (lambda t: t.ones(2).to("float33"), "float33"),
    "to a number": (lambda t: t.ones(2).to(device=3.5), "float|3.5"),
}


def _without_init(t):
    def init(self):
        self.layer = t.nn.Linear(2, 2)

    return init


ALL_MISTAKES = MISTAKES | FURTHER_MISTAKES


def test_no_mistake_is_lost():
    assert len(ALL_MISTAKES) == len(MISTAKES) + len(FURTHER_MISTAKES)


@pytest.mark.parametrize("name", ALL_MISTAKES)
def test_what_pytorch_refuses_is_refused(name):
    mistake, word = ALL_MISTAKES[name]
    assert raised_by(lambda: mistake(torch)) is not None
    error = raised_by(lambda: mistake(flow))
    assert error is not None
    with pytest.raises(error, match=f"(?i){word}"):
        mistake(flow)


@pytest.mark.parametrize(
    ("mistake", "words"), [pytest.param(*row, id=name) for name, row in (GRAPHS | GLOBALS).items()]
)
def test_mistakes_with_graphs_and_global_tensors(mistake, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(
        (TypeError, ValueError, RuntimeError, IndexError, NotImplementedError), match=words
    ):
        mistake()


SUGGESTIONS = {
    "of an argument": (lambda: flow.sum(flow.ones(2), dims=0), r"^sum\(\) .*'dims'; .*'dim'"),
    "of a method": (lambda: flow.ones(2).max(dims=0), r"^max\(\) .*'dims'; .*'dim'"),
    "of a function": (lambda: flow.matmull, "'matmul'"),
    "of a layer": (lambda: flow.nn.Liner, "'Linear'"),
    "of a module": (lambda: flow.distribted, "'distributed'"),
    "of a model": (lambda: flowvision.models.ModelCreator.create_model("resnt50"), "'resnet50'"),
    "of an initial gain": (lambda: flow.nn.init.calculate_gain("tahn"), "'tanh'"),
    "of a device": (lambda: flow.ones(2).to("cuda0"), "write `cuda:0`"),
    "of a setting": (lambda: setattr(flow.eager.settings, "explian", True), "explian"),
    "of nothing": (lambda: flow.qqqqqqqq, "no attribute 'qqqqqqqq'$"),
}


@pytest.mark.parametrize("name", SUGGESTIONS)
def test_what_is_meant_perhaps(name):
    call, message = SUGGESTIONS[name]
    with pytest.raises((AttributeError, RuntimeError, TypeError, ValueError), match=message):
        call()


# Other tests import the modules of commands.
@pytest.mark.filterwarnings("ignore:.*found in sys.modules:RuntimeWarning")
@pytest.mark.parametrize(
    ("command", "meant"),
    [
        (("dotcor",), "'doctor'"),
        (("doctor", "--nochecks"), "'--no-checks'"),
        (("completion", "bsah"), "'bash'"),
        (("onnx", "exprot"), "'export'"),
        (("plan", "--rnks", "8", "plans.py:gpt"), "'--ranks'"),
        (("plan", "--type", "cudda", "plans.py:gpt"), "'cuda'"),
        (("plan", "plans.py:lennet"), "'lenet'"),
        (("plan", "plans.py:lenet", "widht=2"), "'width'"),
        (("serve", "--restrat", "folder"), "'--restart'"),
    ],
    ids=lambda words: " ".join(words) if isinstance(words, tuple) else "",
)
def test_what_is_meant_perhaps_on_the_command_line(command, meant, monkeypatch, tmp_path, capsys):
    (tmp_path / "plans.py").write_text("def lenet(placement, width=1): ...\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["oneflow"])
    monkeypatch.setattr("sys.path", [*sys.path])
    with pytest.raises(SystemExit) as ended:
        main(command)
    said = f"{ended.value.code}{capsys.readouterr().err}"
    assert f"did you mean {meant}?" in said


@pytest.mark.parametrize(
    "name",
    [
        *("sum", "all", "any", "abs", "complex", "max", "min", "norm", "pow", "qr", "range"),
        *("round", "slice", "svd", "lu_solve"),
    ],
)
def test_no_function_is_called_by_the_name_that_keeps_pythons_own(name):
    with pytest.raises(TypeError, match=rf"^{name}\(\)"):
        getattr(flow, name)(flow.ones(2, 2), nonsense=1)


def test_a_misspelled_variable_is_named(monkeypatch):
    from oneflow.base.unknown_variables import warn_of_unknown_variables

    monkeypatch.setenv("ONEFLOW_CPU_DEVICE", "2")
    monkeypatch.setenv("ONEFLOW_OF_THE_USER_ALONE", "2")
    with pytest.warns(UserWarning, match="`ONEFLOW_CPU_DEVICE` is not read.*'ONEFLOW_CPU_DEVICES'"):
        warn_of_unknown_variables()


def test_the_largest_rank_says_how_many_devices_are_needed():
    with pytest.raises(RuntimeError, match="set ONEFLOW_CPU_DEVICES=40 "):
        flow.ones(2, placement=flow.placement("cpu", [38, 39]), sbp=flow.sbp.broadcast)
