"""`functional_call`: whose tensors a module uses, keeps and changes, against PyTorch."""

from __future__ import annotations

import pytest
import torch

import oneflow as flow
from tests.autograd.both import agree, outcome


def _model(lib):
    """A module with tied weights and buffers."""

    class Model(lib.nn.Module):
        def __init__(self):
            super().__init__()
            self.first = lib.nn.Linear(2, 2, bias=False)
            self.second = lib.nn.Linear(2, 2, bias=False)
            self.second.weight = self.first.weight
            self.register_buffer("count", lib.zeros(()))
            self.register_buffer("total", lib.zeros(2))
            self.register_buffer("nothing", None)
            self.scale = 2.0
            with lib.no_grad():
                self.first.weight.copy_(lib.tensor([[1.0, 2.0], [3.0, 4.0]]))

        def forward(self, x):
            self.count = self.count + 1
            self.total += x
            y = self.second(self.first(x)) * self.count
            return y if self.nothing is None else y + self.nothing

    return Model()


def _weight(lib):
    return lib.tensor([[2.0, 0.0], [1.0, 1.0]], requires_grad=True)


def _call(given, **options):
    """A case: a call with what `given` makes of the library, and all that it leaves behind."""

    def case(lib):
        model, tensors = _model(lib), given(lib)
        x = lib.tensor([1.0, -1.0])
        y = lib.func.functional_call(model, tensors, (x,), **options)
        y.sum().backward()
        dicts = [tensors] if isinstance(tensors, dict) else tensors
        return (
            y,
            [(name, t, t.grad) for named in dicts for name, t in sorted(named.items())],
            [(name, t, t.grad) for name, t in model.named_parameters()],
            list(model.named_buffers()),
            hasattr(model, "extra"),
        )

    return case


CALLS = {
    "nothing": _call(lambda lib: {}),
    "one name of a tied weight": _call(lambda lib: {"first.weight": _weight(lib)}),
    "the other name": _call(lambda lib: {"second.weight": _weight(lib)}),
    "without ties": _call(lambda lib: {"second.weight": _weight(lib)}, tie_weights=False),
    "two names for one tensor": _call(
        lambda lib: dict.fromkeys(("first.weight", "second.weight"), _weight(lib))
    ),
    "two tensors for a tied one": _call(
        lambda lib: {"first.weight": _weight(lib), "second.weight": _weight(lib)}
    ),
    "two tensors without ties": _call(
        lambda lib: {"first.weight": _weight(lib), "second.weight": _weight(lib)},
        tie_weights=False,
    ),
    "buffers": _call(lambda lib: {"count": lib.ones(()), "total": lib.ones(2)}),
    "a buffer that is None": _call(lambda lib: {"nothing": lib.ones(2)}),
    "two dicts": _call(lambda lib: ({"first.weight": _weight(lib)}, {"count": lib.ones(())})),
    "a name twice": _call(lambda lib: ({"count": lib.ones(())}, {"count": lib.ones(())})),
    "another name": _call(lambda lib: {"extra": lib.ones(())}),
    "a name in no module": _call(lambda lib: {"third.weight": lib.ones(())}),
    "no tensor": _call(lambda lib: {"count": 1.0}),
    "in place of no tensor": _call(lambda lib: {"scale": lib.ones(())}),
    "strict with ties": _call(
        lambda lib: {
            "first.weight": _weight(lib),
            "count": lib.ones(()),
            "total": lib.ones(2),
        },
        strict=True,
    ),
    "strict without a buffer": _call(lambda lib: {"first.weight": _weight(lib)}, strict=True),
    "strict with another name": _call(
        lambda lib: {
            "first.weight": _weight(lib),
            "count": lib.ones(()),
            "total": lib.ones(2),
            "extra": lib.ones(()),
        },
        strict=True,
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_calls_do_what_pytorchs_do(name):
    ours, theirs = (outcome(CALLS[name], lib) for lib in (flow, torch))
    if isinstance(theirs, tuple):
        assert ours[0] == theirs[0], (ours, theirs)
    else:
        agree(CALLS[name])


def test_a_failed_call_leaves_the_module_as_it_was():
    for lib in (flow, torch):
        model = _model(lib)
        before = dict(model.named_parameters(remove_duplicate=False))
        with pytest.raises(AttributeError):
            lib.func.functional_call(
                model, {"first.weight": _weight(lib), "third.weight": lib.ones(2)}, (lib.ones(2),)
            )
        with pytest.raises(TypeError):
            lib.func.functional_call(model, {"first.weight": _weight(lib)}, ("nonsense",))
        after = dict(model.named_parameters(remove_duplicate=False))
        assert all(after[name] is value for name, value in before.items())


def test_statistics_of_batches_are_written_back():
    def case(lib):
        layer = lib.nn.BatchNorm1d(2)
        state = {name: tensor.detach().clone() for name, tensor in layer.state_dict().items()}
        x = lib.tensor([[1.0, 2.0], [3.0, 5.0]])
        y = lib.func.functional_call(layer, state, (x,))
        kept = [(name, tensor) for name, tensor in state.items() if "num" not in name]
        return y, kept, int(state["num_batches_tracked"]), list(layer.named_buffers())[:2]

    agree(case)


@pytest.mark.parametrize("name", ["one.weight", "other.weight"])
@pytest.mark.parametrize("tie_weights", [True, False])
def test_modules_of_two_names_get_their_own_tensors_back(name, tie_weights):
    model = flow.nn.Module()
    model.one = model.other = flow.nn.Linear(2, 1, bias=False)
    model.forward = lambda x: model.one(x) + model.other(x)
    before = model.one.weight
    given = {name: flow.tensor([[3.0, 4.0]])}
    y = flow.func.functional_call(model, given, flow.ones(1, 2), tie_weights=tie_weights)
    assert y.item() == 14.0
    assert model.one.weight is before


def test_modules_within_themselves_are_called():
    def case(lib):
        model = _model(lib)
        model.first.outer = model
        given = {"first.outer.first.weight": _weight(lib), "first.outer.total": lib.ones(2)}
        x = lib.tensor([1.0, -1.0])
        y = lib.func.functional_call(model, given, (x,), tie_weights=False)
        return y, model.first.weight, model.total

    agree(case)
