"""Import paths of upstream, and what its users find there."""

from __future__ import annotations

import copy
import importlib
import pickle
from types import FunctionType

import numpy as np
import pytest

import oneflow as flow
from oneflow import nn
from oneflow.base.import_paths import _MOVED, _NAMESPACES
from oneflow.base.old_modules import OLD_MODULES

NAMES = [
    ("oneflow.nn.modules.min_max_observer", "MinMaxObserver", nn.MinMaxObserver),
    ("oneflow.nn.modules.fake_quantization", "FakeQuantization", nn.FakeQuantization),
    ("oneflow.nn.modules.math_ops", "add", flow.add),
    ("oneflow.nn.modules.where", "where", flow.where),
    ("oneflow.nn.modules", "Conv2d", nn.Conv2d),
    ("oneflow.nn.modules.instancenorm", "InstanceNorm2d", nn.InstanceNorm2d),
    ("oneflow.nn.modules.interpolate", "interpolate", nn.functional.interpolate),
    ("oneflow.nn.optimizer.adamw", "AdamW", flow.optim.AdamW),
    ("oneflow.nn.optimizer.warmup_lr", "WarmUpLR", flow.optim.lr_scheduler.WarmUpLR),
    ("oneflow.nn.optimizer.lbfgs", "LBFGS", flow.optim.LBFGS),
    (
        "oneflow.nn.optimizer.multiplicative_lr",
        "MultiplicativeLR",
        flow.optim.lr_scheduler.MultiplicativeLR,
    ),
    ("oneflow.nn.optimizer.swa_utils", "AveragedModel", flow.optim.swa_utils.AveragedModel),
    ("oneflow.unittest.env", "eager_execution_enabled", flow.eager_execution_enabled),
    ("oneflow.nn.utils.clip_grad", "clip_grad_norm_", nn.utils.clip_grad_norm_),
    ("oneflow.amp.autocast_mode", "autocast", flow.amp.autocast),
    ("oneflow.autograd.autograd_function", "Function", flow.autograd.Function),
    ("oneflow.autograd.autograd_mode", "no_grad", flow.no_grad),
    ("oneflow.framework.check_point_v2", "load", flow.load),
    ("oneflow.framework.type_tensor", "FloatTensor", flow.FloatTensor),
    ("oneflow.nn.graph.graph_block", "GraphModule", nn.graph.GraphModule),
    ("oneflow.nn.graph.block", "TensorBlock", nn.graph.GraphTensor),
    ("oneflow.nn.qat.conv", "QatConv2d", nn.QatConv2d),
    ("oneflow.nn.graph.proxy", "ProxyModuleList", nn.graph.Proxy),
    ("oneflow.autograd.profiler", "record_function", flow.profiler.record_function),
    ("oneflow.cuda.amp", "GradScaler", flow.cuda.amp.GradScaler),
    ("oneflow.cuda.nvtx", "range_push", flow.profiler.range_push),
    ("oneflow.cuda.random", "manual_seed_all", flow.cuda.manual_seed_all),
    ("oneflow.distributed.distributed_c10d", "ReduceOp", flow.distributed.ReduceOp),
    (
        "oneflow.nn.parallel.distributed",
        "DistributedDataParallel",
        nn.parallel.DistributedDataParallel,
    ),
    ("oneflow.optim.adamw", "AdamW", flow.optim.AdamW),
    ("oneflow.serialization", "load", flow.load),
    ("oneflow.storage", "UntypedStorage", flow.UntypedStorage),
    ("oneflow.utils.dlpack", "from_dlpack", flow.from_dlpack),
    ("oneflow.utils.hooks", "RemovableHandle", type(nn.Linear(1, 1).register_forward_hook(print))),
    ("oneflow.utils.model_zoo", "load_url", flow.hub.load_state_dict_from_url),
    ("oneflow.distributions.categorical", "Categorical", flow.distributions.Categorical),
]


@pytest.mark.parametrize(
    ("path", "name", "expected"), NAMES, ids=[f"{path}.{name}" for path, name, _ in NAMES]
)
def test_a_path_leads_to_the_public_name(path, name, expected):
    assert getattr(importlib.import_module(path), name) is expected


@pytest.mark.parametrize("path", _NAMESPACES)
def test_every_path_of_the_table(path):
    module = importlib.import_module(path)
    assert module.__name__ == path
    assert not hasattr(module, "nothing_of_this_name")
    with pytest.raises(ImportError, match="nothing_of_this_name"):
        exec(f"from {path} import nothing_of_this_name", {})


@pytest.mark.parametrize("name", OLD_MODULES)
def test_old_modules_have_the_names_of_their_rows(name):
    module = importlib.import_module(f"oneflow.{name}")
    assert getattr(flow, name) is module
    assert module.__doc__ == OLD_MODULES[name].doc
    names = {}
    exec(f"from oneflow.{name} import *", names)
    for room, source, public in OLD_MODULES[name].imports():
        exec(f"from {room} import {source} as expected", names)
        assert getattr(module, public) is names["expected"]
        if not public.startswith("__"):
            assert names[public] is names["expected"]
            # As pickles find it.
            assert pickle.loads(f"coneflow.{name}\n{public}\n.".encode()) is names["expected"]
    with pytest.raises(ImportError, match="nothing_of_this_name"):
        exec(f"from oneflow.{name} import nothing_of_this_name", {})
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module(f"oneflow.{name}.nothing")


@pytest.mark.parametrize(
    ("path", "home"),
    [(f"{old}.{name}", f"{new}.{name}") for old, names, new in _MOVED for name in names.split()],
)
def test_earlier_pickles_find_what_has_moved(path, home):
    module = importlib.import_module(home)
    defined = {
        name: value
        for name, value in vars(module).items()
        if getattr(value, "__module__", None) == home and isinstance(value, type | FunctionType)
    }
    assert defined
    for name, value in defined.items():
        if "." not in value.__qualname__:
            assert pickle.loads(f"c{path}\n{name}\n.".encode()) is value


@pytest.mark.parametrize("kind", ["storage", "untyped_storage"])
def test_storages_of_earlier_files_are_loaded(kind):
    storage = getattr(flow.arange(3.0), kind)()
    content = pickle.dumps(storage, 0).replace(b"functional.creation.", b"functional.shape.")
    assert b"functional.shape.storages" in content
    assert pickle.loads(content).tolist() == storage.tolist()


def test_other_modules_are_not_found():
    for path in ("oneflow.nn.modules.nothing", "oneflow.framework.nothing"):
        with pytest.raises(ModuleNotFoundError):
            importlib.import_module(path)


def test_dense_tensors_and_back():
    utils = importlib.import_module("oneflow._utils")
    tensors = [flow.randn(2, 3), flow.randn(4), flow.tensor(1.0)]
    flat = utils._flatten_dense_tensors(tensors)
    assert flat.shape == (11,)
    for ours, back in zip(tensors, utils._unflatten_dense_tensors(flat, tensors), strict=True):
        assert flow.equal(ours, back)
    with pytest.raises(RuntimeError):
        utils._unflatten_dense_tensors(flat, tensors[:2])


def test_lists_of_tensors():
    framework = importlib.import_module("oneflow.framework.tensor")
    convert = importlib.import_module("oneflow.framework.tensor_tuple_util").convert_to_tensor_tuple
    given = framework.TensorTuple([flow.ones(1)])
    given.merge([flow.zeros(1)])
    assert flow.stack(given).tolist() == [[1.0], [0.0]]
    assert [len(convert(argument)) for argument in (None, flow.ones(2), given)] == [0, 1, 2]
    with pytest.raises(TypeError, match="int"):
        framework.TensorTuple([1])


def test_parameter_groups():
    module = importlib.import_module("oneflow.nn.optimizer.optimizer")
    weight = nn.Parameter(flow.ones(2))
    optimizer = flow.optim.SGD([{"params": [weight], "lr_scale": 0.5}], lr=1.0)
    (group,) = optimizer.param_groups
    assert isinstance(group, module.ParamGroup)
    assert group.parameters == [weight]
    assert group.options["lr_scale"] == 0.5
    assert "params" not in group.options
    assert type(copy.deepcopy(group)) is module.ParamGroup
    made = module.ParamGroup({"params": [weight], "lr": 0.1}, {"lr": 1.0, "momentum": 0.9})
    assert dict(made) == {"params": [weight], "lr": 0.1, "momentum": 0.9}
    with pytest.raises(TypeError, match="params"):
        module.ParamGroup({"lr": 0.1}, {})


def test_channels_last_while_the_environment_says_so(monkeypatch):
    x = flow.randn(2, 6, 5, 3)
    layers = [
        nn.Conv2d(3, 4, 3),
        nn.MaxPool2d(2),
        nn.AvgPool2d(2),
        nn.AdaptiveAvgPool2d(2),
        nn.BatchNorm2d(3).eval(),
        nn.QatConv2d(3, 4, 3),
    ]
    first = [layer(x.permute(0, 3, 1, 2)).permute(0, 2, 3, 1).numpy() for layer in layers]
    monkeypatch.setenv("ONEFLOW_ENABLE_NHWC", "1")
    for layer, expected in zip(layers, first, strict=True):
        np.testing.assert_allclose(layer(x).numpy(), expected, atol=1e-5)
