"""The behaviour of modules: registration, state dicts, hooks, conversion, printing."""

from __future__ import annotations

import copy
import pickle
from collections import OrderedDict

import numpy as np
import pytest
import torch

import oneflow as flow
from tests.nn.twins import raised_by
from tests.oracle import dtype_name

LIBRARIES = (flow, torch)


def network(lib):
    """A module with every kind of member."""

    class Network(lib.nn.Module):
        def __init__(self):
            super().__init__()
            self.first = lib.nn.Linear(2, 3)
            self.inner = lib.nn.Sequential(lib.nn.Linear(3, 3), lib.nn.ReLU())
            self.tied = self.first
            self.scale = lib.nn.Parameter(lib.ones(3))
            self.register_parameter("nothing", None)
            self.register_buffer("mean", lib.zeros(3))
            self.register_buffer("cache", lib.zeros(1), persistent=False)
            self.setting = 5

        def forward(self, x):
            return self.inner(self.first(x)) * self.scale + self.mean

    return Network()


def both_networks():
    mine, theirs = network(flow), network(torch)
    theirs.load_state_dict({k: torch.tensor(v.numpy()) for k, v in mine.state_dict().items()})
    return mine, theirs


def on_both(ask):
    """The answer to `ask` of both networks; the two must be equal."""
    answers = [ask(module) for module in both_networks()]
    assert answers[0] == answers[1]
    return answers[0]


@pytest.mark.parametrize(
    "ask",
    [
        lambda m: [name for name, _ in m.named_parameters()],
        lambda m: [name for name, _ in m.named_parameters("net", remove_duplicate=False)],
        lambda m: [name for name, _ in m.named_parameters(recurse=False)],
        lambda m: [name for name, _ in m.named_buffers()],
        lambda m: [name for name, _ in m.named_modules()],
        lambda m: [name for name, _ in m.named_modules(prefix="net", remove_duplicate=False)],
        lambda m: [name for name, _ in m.named_children()],
        lambda m: [type(module).__name__ for module in m.modules()],
        lambda m: len(list(m.children())),
        lambda m: list(m.state_dict()),
        lambda m: list(m.state_dict(prefix="net.")),
        lambda m: m.state_dict()._metadata,
        repr,
        lambda m: m.nothing is None and m.setting,
        lambda m: [name for name in dir(m) if name in ("first", "scale", "mean", "nothing")],
    ],
)
def test_members_are_listed_as_in_pytorch(ask):
    on_both(ask)


def test_members_are_found_by_name():
    net = network(flow)
    assert net.get_submodule("inner.0") is net.inner[0]
    assert net.get_submodule("") is net
    assert net.get_parameter("first.weight") is net.first.weight
    assert net.get_buffer("mean") is net.mean
    with pytest.raises(AttributeError, match="no attribute `absent`"):
        net.get_submodule("inner.absent")
    with pytest.raises(AttributeError, match="not an nn"):
        net.get_parameter("mean")
    with pytest.raises(AttributeError, match="no attribute 'absent'"):
        _ = net.absent


@pytest.mark.parametrize(
    "change",
    [
        lambda lib, m: setattr(m, "scale", 3),
        lambda lib, m: setattr(m, "first", 3),
        lambda lib, m: setattr(m, "mean", 3),
        lambda lib, m: m.register_parameter("a.b", None),
        lambda lib, m: m.register_parameter("", None),
        lambda lib, m: m.register_parameter("setting", None),
        lambda lib, m: m.register_parameter("other", lib.ones(2)),
        lambda lib, m: m.register_parameter("other", m.scale * 2),
        lambda lib, m: m.register_buffer("first", lib.ones(2)),
        lambda lib, m: m.register_buffer("other", 3),
        lambda lib, m: m.add_module("other", 3),
        lambda lib, m: m.add_module("setting", lib.nn.ReLU()),
        lambda lib, m: lib.nn.Module()(1),
        lambda lib, m: m.train("yes"),
        lambda lib, m: delattr(m, "absent"),
        lambda lib, m: m.to(lib.int32),
        lambda lib, m: m.register_forward_hook(lambda *_: 1) and m.load_state_dict([1]),
    ],
)
def test_wrong_use_raises_as_in_pytorch(change):
    expected = raised_by(lambda: change(torch, network(torch)))
    with pytest.raises(expected):
        change(flow, network(flow))


def test_assigning_before_init_is_explained():
    class Forgetful(flow.nn.Module):
        def __init__(self):
            self.layer = flow.nn.Linear(1, 1)

    with pytest.raises(AttributeError, match=r"before Module.__init__\(\) call"):
        Forgetful()


def test_attributes_change_their_kind():
    net = network(flow)
    net.scale = None
    assert net.scale is None
    assert "scale" not in dict(net.named_parameters())
    net.setting = flow.nn.Parameter(flow.ones(1))
    assert "setting" in dict(net.named_parameters())
    assert "setting" not in net.__dict__
    net.mean = flow.ones(3)
    assert net.state_dict()["mean"].tolist() == [1, 1, 1]
    del net.mean
    assert "mean" not in net.state_dict()
    net.inner = flow.nn.ReLU()
    assert repr(net.get_submodule("inner")) == "ReLU()"


# --- state dicts


def test_state_is_copied_not_shared_by_loading():
    source, target = network(flow), network(flow)
    result = target.load_state_dict(source.state_dict())
    assert repr(result) == "<All keys matched successfully>"
    with flow.no_grad():
        source.scale.add_(1.0)
    assert target.scale.tolist() == [1, 1, 1]


def test_state_shares_memory_with_the_module():
    net = network(flow)
    state = net.state_dict()
    with flow.no_grad():
        net.scale.mul_(3.0)
    assert state["scale"].tolist() == [3, 3, 3]
    assert not state["scale"].requires_grad
    assert net.state_dict(keep_vars=True)["scale"] is net.scale


@pytest.mark.parametrize(
    "spoil",
    [
        lambda state: state.pop("scale"),
        lambda state: state.update(extra=state["scale"]),
        lambda state: state.update(scale=state["mean"][:2]),
        lambda state: (state.pop("inner.0.bias"), state.update({"inner.7.bias": state["mean"]})),
        lambda state: state.update(scale="text"),
    ],
)
def test_state_that_does_not_fit_is_refused_as_in_pytorch(spoil):
    messages = []
    for module in both_networks():
        state = dict(module.state_dict())
        spoil(state)
        with pytest.raises(RuntimeError) as error:
            module.load_state_dict(state)
        messages.append(str(error.value).replace("torch.Size", "oneflow.Size"))
    ours, theirs = (text.split("\n\t")[:2] for text in messages)
    assert ours[0] == theirs[0]
    assert ours[1][:40] == theirs[1][:40]


def test_loading_without_strict_reports_names():
    reports = []
    for module in both_networks():
        state = dict(module.state_dict())
        state["extra"] = state.pop("scale")
        reports.append(module.load_state_dict(state, strict=False))
    assert tuple(reports[0]) == tuple(reports[1]) == (["scale"], ["extra"])


def test_loading_converts_dtypes_and_takes_numpy():
    net = flow.nn.Linear(2, 1)
    net.load_state_dict({"weight": np.array([[1, 2]]), "bias": flow.ones(1, dtype=flow.float64)})
    assert net.weight.dtype is net.bias.dtype is flow.float32
    assert net.weight.tolist() == [[1, 2]]
    assert net.bias.tolist() == [1]
    assert net.weight.requires_grad
    assert net.weight.is_leaf


def test_extra_state_and_versions_travel():
    class Counter(flow.nn.Module):
        _version = 2
        count = 0

        def get_extra_state(self):
            return {"count": self.count}

        def set_extra_state(self, state):
            self.count = state["count"]

    source, target = Counter(), Counter()
    source.count = 7
    state = source.state_dict()
    assert state._metadata == OrderedDict({"": {"version": 2}})
    target.load_state_dict(state)
    assert target.count == 7
    with pytest.raises(RuntimeError, match="_extra_state"):
        target.load_state_dict({})


def test_old_versions_are_upgraded_while_loading():
    class Renamed(flow.nn.Linear):
        _version = 2

        def _load_from_state_dict(self, state, prefix, metadata, *rest):
            if metadata.get("version", 1) < 2:
                state[prefix + "weight"] = state.pop(prefix + "kernel")
            super()._load_from_state_dict(state, prefix, metadata, *rest)

    model = flow.nn.Sequential(Renamed(2, 1))
    model.load_state_dict({"0.kernel": flow.ones(1, 2), "0.bias": flow.zeros(1)})
    assert model[0].weight.tolist() == [[1, 1]]


def test_state_dict_hooks():
    net = flow.nn.Linear(1, 1)
    calls = []
    net.register_state_dict_pre_hook(lambda module, prefix, keep: calls.append(prefix))
    net.register_state_dict_post_hook(lambda module, state, *_: state.update(extra=flow.ones(1)))
    net.register_load_state_dict_pre_hook(lambda module, state, *_: state.pop("extra"))
    net.register_load_state_dict_post_hook(lambda module, keys: calls.append(tuple(keys)))
    net.load_state_dict(net.state_dict())
    assert calls == ["", ([], [])]


# --- hooks around calls


def test_forward_hooks_see_and_change_what_passes():
    for lib in LIBRARIES:
        log = []
        layer = lib.nn.Identity()
        layer.register_forward_pre_hook(
            lambda m, args, log=log: log.append("pre") or (args[0] + 1,)
        )
        layer.register_forward_hook(lambda m, args, out, log=log: log.append("post") or out * 2)
        first = layer.register_forward_hook(lambda m, a, o, log=log: log.append("0"), prepend=True)
        assert layer(lib.ones(1)).item() == 4
        first.remove()
        first.remove()
        assert layer(lib.ones(1)).item() == 4
        assert log == ["pre", "0", "post", "pre", "post"]


def test_hooks_with_keyword_arguments():
    for lib in LIBRARIES:

        class Scale(lib.nn.Module):
            def forward(self, x, factor=1):
                return x * factor

        seen = []
        module = Scale()
        module.register_forward_pre_hook(
            lambda m, args, kwargs: (args, {"factor": kwargs["factor"] + 1}), with_kwargs=True
        )
        with module.register_forward_hook(
            lambda m, args, kwargs, out, seen=seen: seen.append(kwargs["factor"]), with_kwargs=True
        ):
            assert module(lib.ones(1), factor=2).item() == 3
        assert module(lib.ones(1), factor=2).item() == 3
        assert seen == [3]


def test_hooks_that_are_always_called():
    class Failing(flow.nn.Module):
        def forward(self, x):
            raise KeyError("no")

    calls = []
    module = Failing()
    module.register_forward_hook(lambda *_: calls.append(1), always_call=True)
    module.register_forward_hook(lambda *_: calls.append(2))
    with pytest.raises(KeyError):
        module(1)
    assert calls == [1]


def test_backward_hooks_see_and_change_gradients():
    results = []
    for lib in LIBRARIES:
        layer = lib.nn.Linear(2, 1, bias=False)
        with lib.no_grad():
            layer.weight.fill_(2.0)
        seen = []
        layer.register_full_backward_pre_hook(lambda m, out: (out[0] * 10,))
        layer.register_full_backward_hook(
            lambda m, into, out, seen=seen: (
                seen.append((into[0].tolist(), out[0].tolist())) or (into[0] + 1,)
            )
        )
        x = lib.ones(1, 2, requires_grad=True)
        layer(x).sum().backward()
        results.append((seen, x.grad.tolist(), layer.weight.grad.tolist()))
    assert results[0] == results[1]


def test_backward_hooks_run_without_gradients_of_inputs():
    for lib in LIBRARIES:
        layer = lib.nn.Linear(2, 1)
        seen = []
        layer.register_full_backward_hook(lambda m, into, out, seen=seen: seen.append(into))
        layer(lib.ones(1, 2)).sum().backward()
        assert seen == [(None,)]


# --- modes, gradients, conversion


def test_training_mode_reaches_everything():
    net = network(flow)
    assert net.eval() is net
    assert not any(module.training for module in net.modules())
    net.inner.train()
    assert net.inner[0].training
    assert not net.training


def test_gradients_are_cleared():
    net = network(flow)
    net(flow.ones(1, 2)).sum().backward()
    net.zero_grad()
    assert net.scale.grad.tolist() == [0, 0, 0]
    net.zero_grad(set_to_none=True)
    assert net.scale.grad is None
    net.requires_grad_(False)
    assert not any(parameter.requires_grad for parameter in net.parameters())


def test_tied_weights_stay_tied():
    class Tied(flow.nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding = flow.nn.Embedding(5, 3)
            self.head = flow.nn.Linear(3, 5, bias=False)
            self.head.weight = self.embedding.weight

    model = Tied()
    assert len(list(model.parameters())) == 1
    assert list(model.state_dict()) == ["embedding.weight", "head.weight"]
    twin = copy.deepcopy(model).double()
    assert twin.head.weight is twin.embedding.weight is not model.head.weight
    out = twin.head(twin.embedding(flow.tensor([1]))).sum()
    out.backward()
    assert twin.head.weight.grad.dtype is flow.float64


@pytest.mark.parametrize(
    "convert",
    [
        lambda lib, m: m.double(),
        lambda lib, m: m.half(),
        lambda lib, m: m.bfloat16(),
        lambda lib, m: m.to(lib.float64),
        lambda lib, m: m.to("cpu", lib.float64),
        lambda lib, m: m.to(lib.zeros(1, dtype=lib.float64)),
        lambda lib, m: m.to(device="cpu", dtype=lib.float64),
        lambda lib, m: m.type(lib.float64),
        lambda lib, m: m.double().float(),
        lambda lib, m: m.cpu(),
    ],
)
def test_conversion_changes_floating_members_only(convert):
    dtypes = []
    for lib in LIBRARIES:
        net = network(lib)
        net.register_buffer("count", lib.zeros(1, dtype=lib.int64))
        scale = net.scale
        assert convert(lib, net) is net
        assert net.scale is scale
        assert net.scale.requires_grad
        dtypes.append({name: dtype_name(tensor) for name, tensor in net.state_dict().items()})
    ours, theirs = dtypes
    if ours["count"] != "float64":
        assert ours == theirs


def test_conversion_keeps_gradients():
    net = flow.nn.Linear(2, 1)
    net(flow.ones(1, 2)).sum().backward()
    net.double()
    assert net.weight.grad.dtype is flow.float64
    assert net.weight.grad.tolist() == [[1, 1]]


def test_empty_parameters_on_a_device():
    net = flow.nn.Linear(2, 1).to_empty(device="cpu")
    assert net.weight.shape == (1, 2)
    assert net.weight.requires_grad
    nested = flow.nn.Sequential(flow.nn.Linear(2, 1)).to(flow.float64)
    nested[0].weight.data.fill_(5.0)
    assert nested.to_empty(device="cpu", recurse=False)[0].weight.tolist() == [[5, 5]]


def test_a_submodule_is_replaced_by_its_path():
    for lib in LIBRARIES:
        net = lib.nn.Sequential(lib.nn.Sequential(lib.nn.ReLU()), lib.nn.ReLU())
        net.set_submodule("0.0", lib.nn.Tanh())
        net.set_submodule("1", lib.nn.ELU(), strict=True)
        assert isinstance(net[0][0], lib.nn.Tanh)
        assert isinstance(net[1], lib.nn.ELU)
        net.set_submodule("0.new", lib.nn.GELU())
        assert isinstance(net[0].new, lib.nn.GELU)
        for path in ("0.1", "5.0"):
            with pytest.raises(AttributeError):
                net.set_submodule(path, lib.nn.ReLU(), strict=True)


def test_apply_visits_children_first():
    orders = [
        (order := [], network(lib).apply(lambda m, order=order: order.append(type(m).__name__)))[0]
        for lib in LIBRARIES
    ]
    assert orders[0] == orders[1]


def test_copies_and_pickles_are_independent():
    net = network(flow)
    for twin in (copy.deepcopy(net.inner), pickle.loads(pickle.dumps(net.inner))):
        with flow.no_grad():
            twin[0].weight.zero_()
        assert not np.array_equal(twin[0].weight.numpy(), net.inner[0].weight.numpy())
        assert twin[0].weight.requires_grad
        assert twin[0].weight.is_leaf
        assert repr(twin) == repr(net.inner)


# --- parameters


def test_parameters_share_memory_with_their_data():
    for lib in LIBRARIES:
        data = lib.zeros(2)
        parameter = lib.nn.Parameter(data)
        with lib.no_grad():
            parameter.add_(1.0)
        assert data.tolist() == [1, 1]
        assert not data.requires_grad
        assert parameter.requires_grad
        assert not lib.nn.Parameter(data, requires_grad=False).requires_grad
        assert isinstance(copy.deepcopy(parameter), lib.nn.Parameter)


def test_parameters_print_as_such():
    text = repr(flow.nn.Parameter(flow.ones(1)))
    assert text.startswith("Parameter containing:\ntensor([1.], dtype=oneflow.float32")


@pytest.mark.parametrize("lib", LIBRARIES)
def test_memory_formats_are_accepted(lib):
    layer = lib.nn.Conv2d(2, 3, 1).to("cpu", memory_format=lib.channels_last, non_blocking=True)
    x = lib.ones(1, 2, 4, 5).to(memory_format=lib.channels_last)
    assert tuple(layer(x).contiguous(memory_format=lib.contiguous_format).shape) == (1, 3, 4, 5)
