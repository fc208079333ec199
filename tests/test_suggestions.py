"""Misspelled names: the message has the right one, wherever names are typed."""

from __future__ import annotations

import gc
import importlib
import importlib.util
import inspect
import pkgutil
import sys
import weakref
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import pytest

import flowvision
import oneflow as flow
import oneflow_onnx
from oneflow import mock_torch, nn
from oneflow.base.keywords import KeywordSuggestion
from oneflow.base.suggestions import did_you_mean
from oneflow.functional.registry import FUNCTIONS

PACKAGES = [
    "oneflow",
    "oneflow.nn",
    "oneflow.optim",
    "oneflow.optim.lr_scheduler",
    "oneflow.utils.data",
    "oneflow.distributions",
    "flowvision",
    "flowvision.models",
    "flowvision.transforms",
    "oneflow_onnx",
]


def misspelled(name: str) -> str:
    """The name without a letter in its middle."""
    middle = len(name) // 2
    return name[:middle] + name[middle + 1 :]


def raised(call: Callable[[], Any]) -> str:
    with pytest.raises((TypeError, ImportError, AttributeError, RuntimeError, ValueError)) as error:
        call()
    return str(error.value)


@pytest.mark.parametrize(
    ("name", "known", "meant"),
    [
        ("nm", ["ne", "norm", "nn", "numpy"], "'ne' or 'nn'"),
        ("men", ["none", "mean", "sum"], "'mean'"),
        ("lstm", ["RNN", "LSTM", "LSTMCell"], "'LSTM'"),
        ("cuda0", ["cpu", "cuda"], "'cuda'"),
        ("resnte", ["resnet", "restart"], "'resnet'"),
        ("weight", ["weights", "height", "bias"], "'weights' or 'height'"),
    ],
)
def test_one_wrong_letter_is_enough(name, known, meant):
    assert did_you_mean(name, known) == f"; did you mean {meant}?"


def test_nothing_is_suggested_for_what_is_like_nothing():
    assert did_you_mean("zzz", ["cpu", "cuda"]) == did_you_mean("q", ["r"]) == ""


def public_names(module: ModuleType) -> Iterator[str]:
    for name in getattr(module, "__all__", dir(module)):
        wrong = misspelled(name)
        if len(name) > 3 and not name.startswith("_") and not hasattr(module, wrong):
            yield name


@pytest.mark.parametrize("package", PACKAGES)
def test_names_that_are_imported(package, sample):
    module = importlib.import_module(package)
    for name in public_names(module):
        if sample.includes(f"{package}.{name}", 10):
            message = raised(lambda name=name: exec(f"from {package} import {misspelled(name)}"))
            assert message.startswith(f"cannot import name {misspelled(name)!r} from {package!r} (")
            # Three at most: `vgg1_bn` is like all of its kind.
            assert repr(name) in message or message.count("' or '") == 2


@pytest.mark.parametrize("package", [flow, flow.nn, flowvision, oneflow_onnx])
def test_modules_that_are_imported(package):
    for found in pkgutil.iter_modules(package.__path__):
        wrong = f"{package.__name__}.{misspelled(found.name)}"
        if (
            len(found.name) < 4
            or found.name == "__main__"
            or importlib.util.find_spec(wrong) is not None
        ):
            continue
        with pytest.raises(ModuleNotFoundError, match=f"'{wrong}'; did .*'{found.name}'") as error:
            importlib.import_module(wrong)
        assert error.value.name == wrong


def test_python_is_answered_as_it_expects():
    assert importlib.util.find_spec("oneflow.distribted") is None
    assert not hasattr(flow, "distribted")
    with pytest.raises(ImportError) as error:
        exec("from oneflow import manual_sed")
    assert type(error.value) is ImportError
    assert (error.value.name, error.value.path) == ("oneflow", flow.__file__)
    assert raised(lambda: importlib.import_module("oneflow.zzz")) == "No module named 'oneflow.zzz'"


def test_names_of_pytorch():
    with mock_torch.enable():
        torch = importlib.import_module("torch")
        assert "'optim'" in raised(lambda: importlib.import_module("torch.optm"))
        assert "'Linear'" in raised(lambda: exec("from torch.nn import Liner"))
        assert raised(lambda: torch.relux).startswith(
            "oneflow.relux is not implemented; did you mean 'relu'"
        )


def keywords_of(called: Callable[..., Any]) -> list[str]:
    parameters = inspect.signature(called).parameters.values()
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        return []
    names = [p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    return [name for name in names if len(name) > 3 and misspelled(name) not in (*names, "sef")]


def constructors(root: type) -> Iterator[type]:
    for kind in root.__subclasses__():
        if kind.__module__.startswith(("oneflow", "flowvision")):
            if not kind.__name__.startswith("_"):
                yield kind
            yield from constructors(kind)


def test_keywords_of_constructors(sample):
    found = [c for c in constructors(KeywordSuggestion) if "__init__" in vars(c) and keywords_of(c)]
    data = flow.utils.data
    assert {flow.nn.Linear, flow.nn.HuberLoss, flow.optim.SGD, data.DataLoader} < {*found}
    assert {data.Subset, data.RandomSampler, flowvision.datasets.ImageFolder} < {*found}
    for called in found:
        if sample.includes(called.__qualname__, 5) and not vars(called).get("__abstractmethods__"):
            for name in keywords_of(called):
                message = raised(lambda: called(**{misspelled(name): 1}))  # noqa: B023
                assert repr(name) in message, message


def test_keywords_of_functions(sample):
    for path, called in FUNCTIONS.items():
        if sample.includes(path, 10) and not path.endswith("_"):
            for name in keywords_of(called)[-1:]:
                message = raised(lambda: called(**{misspelled(name): 1}))  # noqa: B023
                assert repr(name) in message, message


class Returning:
    """Makes its objects itself."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        made = super().__new__(cls)
        made.__dict__["given"] = args, kwargs
        return made


def test_constructors_of_other_classes_are_left_alone():
    class Net(nn.Module, Returning):
        def __init__(self, width: int, **options: Any) -> None:
            super().__init__()

    assert Net(3, wdth=4).given == ((3,), {"wdth": 4})


def test_tools_show_the_parameters_of_constructors():
    assert list(inspect.signature(nn.Linear).parameters)[:2] == ["in_features", "out_features"]
    # Sphinx shows those of a function `__new__`, where there is one.
    assert not inspect.isfunction(nn.Linear.__new__)


X, IMAGE = flow.ones(3), flow.ones(1, 1, 4, 4)
PARAMETERS = [nn.Parameter(flow.ones(1))]
F = nn.functional
CHOICES = {
    "float32": lambda: flow.ones(2, dtype="flot32"),
    "FloatTensor": lambda: X.type("oneflow.FloatTesor"),
    "float16": lambda: flow.set_default_dtype("flot16"),
    "bilinear": lambda: F.interpolate(IMAGE, size=4, mode="bilinar"),
    "reflect": lambda: F.pad(IMAGE, (1, 1), mode="reflct"),
    "zeros": lambda: F.grid_sample(IMAGE, flow.zeros(1, 2, 2, 2), padding_mode="zeos"),
    "same": lambda: nn.Conv2d(1, 1, 3, padding="sam"),
    "channels_last": lambda: X.contiguous(memory_format="channels_lst"),
    "tanh": lambda: F.gelu(X, approximate="tan"),
    "relu": lambda: nn.RNN(1, 1, nonlinearity="rel"),
    "gelu": lambda: nn.TransformerEncoderLayer(4, 2, activation="gel"),
    "mean": lambda: F.mse_loss(X, X, reduction="men"),
    "batchmean": lambda: F.kl_div(X, X, reduction="batchmen"),
    "floor": lambda: flow.div(X, X, rounding_mode="flor"),
    "fro": lambda: flow.linalg.norm(flow.ones(2, 2), ord="fo"),
    "reduced": lambda: flow.linalg.qr(flow.ones(2, 2), mode="reducd"),
    "ortho": lambda: flow.fft.fft(X, norm="orto"),
    "fan_in": lambda: nn.init.kaiming_normal_(flow.ones(2, 2), mode="fan_i"),
    "leaky_relu": lambda: nn.init.calculate_gain("leaky_rel"),
    "cuda": lambda: flow.device("cud"),
    "cpu": lambda: flow.placement("cp", [0]),
    "broadcast": lambda: X.to_global(flow.placement("cpu", [0]), "brodcast"),
    "triangular": lambda: flow.optim.lr_scheduler.CyclicLR(
        flow.optim.SGD(PARAMETERS, lr=1.0, momentum=0.9), 0.1, 1.0, mode="triangula"
    ),
    "strong_wolfe": lambda: flow.optim.LBFGS(PARAMETERS, line_search_fn="strong_wolf"),
    "gloo": lambda: flow.distributed.init_process_group("glo"),
    "resnet50": lambda: flowvision.models.ModelCreator.create_model("resnet5"),
    "encoder": lambda: nn.ModuleDict({"encoder": nn.ReLU()}).get_submodule("encodr"),
    "weight": lambda: nn.Linear(2, 2).get_parameter("weigt"),
}


@pytest.mark.parametrize("meant", CHOICES)
def test_choices_that_are_texts(meant):
    assert meant in raised(CHOICES[meant])


class _Wrapped:
    """A finder in place of another, as import profilers put them."""

    def __init__(self, finder):
        self.find_spec = finder.find_spec


def test_finders_may_be_wrapped(monkeypatch):
    monkeypatch.setattr(sys, "meta_path", [_Wrapped(finder) for finder in sys.meta_path])
    with pytest.raises(ModuleNotFoundError, match="zzz"):
        importlib.import_module("oneflow.zzz")


def test_a_class_with_suggestions_is_forgotten():
    def make():
        class Net(nn.Module):
            def __init__(self, width=1):
                super().__init__()

        Net(width=2)
        return weakref.ref(Net)

    reference = make()
    gc.collect()
    assert reference() is None


def test_errors_of_unknown_keywords_name_what_was_called():
    """The name under which it was called, or another public one of the same function."""
    owners = [flow, flow.Tensor, nn.functional, flow.linalg, flow.special, flow.signal.windows]
    public = {
        name for owner in (*owners, flow.image, flow.optimizer, flow.scope) for name in dir(owner)
    }
    tensor, wrong = flow.ones(1), {}
    for owner in owners:
        for name in (name for name in dir(owner) if not name.startswith("_")):
            called = getattr(owner, name)
            text = error_text(called, tensor) if inspect.isfunction(called) else ""
            said = text.partition("() got")[0].removeprefix("Tensor.")
            if "no_such_keyword" in text and said not in public:
                wrong[name] = text
    assert wrong == {}


def error_text(called: Callable[..., Any], tensor: flow.Tensor) -> str:
    try:
        called(tensor, no_such_keyword=1)
    except Exception as error:
        return str(error)
    return ""
