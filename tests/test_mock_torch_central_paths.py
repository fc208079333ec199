"""Uses of tensors, layers and files by libraries in PyTorch's place, compared with PyTorch."""

from __future__ import annotations

import argparse
import copy
import io
import pickle
import warnings

import pytest
import torch

import oneflow as flow
from oneflow import mock_torch
from tests.checkpoint.both_libraries import saved
from tests.in_place import enabled, in_place_of
from tests.oracle import difference

# --- what users set on tensors


@pytest.mark.parametrize("kind", ["tensor", "parameter"])
def test_dictionaries_of_tensors_hold_what_users_set(kind):
    def seen(framework):
        x = framework.ones(2)
        x = framework.nn.Parameter(x) if kind == "parameter" else x
        view = x[0]
        (x * 2).sum()
        before = dict(vars(x)), dict(vars(view))
        x.mark = [1]
        vars(x)["other"] = 2
        members = dict(x.__dict__), x.other
        del vars(x)["other"]
        copies = copy.copy(x), copy.deepcopy(x), pickle.loads(pickle.dumps(x))
        found = [dict(vars(member)) for member in copies], hasattr(x, "other")
        same = copies[0].mark is x.mark
        x.__dict__ = {"new": 3}
        return before, members, found, same, dict(vars(x)), {"_value", "_grad"} & vars(x).keys()

    assert seen(flow) == seen(torch)


def test_dictionaries_of_tensors_are_changed_as_others_are():
    def outcome(framework):
        x = framework.ones(2)
        x.a, x.b, x.c = 1, 2, 3
        attributes = vars(x)
        found = [attributes.pop("a"), attributes.pop("a", 5), attributes.setdefault("b", 6)]
        attributes.update({"d": 7}, e=8)
        attributes |= {"f": 9}
        found += [dict(vars(x)), attributes.popitem()[0] in "bcdef", len(vars(x))]
        for missing in (lambda: attributes.pop("a"), lambda: attributes["a"]):
            with pytest.raises(KeyError):
                missing()
        attributes.clear()
        return [*found, dict(vars(x)), hasattr(x, "b"), x.tolist()]

    assert outcome(flow) == outcome(torch)


def test_the_state_of_tensors_is_out_of_reach():
    x = flow.ones(2)
    assert vars(x).pop("_value", None) is None
    vars(x).clear()
    assert x.tolist() == [1.0, 1.0]


def test_parameters_are_made_again_as_accelerate_does():
    parameter = flow.nn.Parameter(flow.ones(2), requires_grad=False)
    parameter.tag = "a"
    options = parameter.__dict__
    options["requires_grad"] = parameter.requires_grad
    assert dict(**options) == {"tag": "a", "requires_grad": False}


# --- containers, layers and hooks


class NeedsMore:
    """A container whose methods need what its constructor sets later."""

    def __init__(self, *given):
        super().__init__(*given)
        self.ready = True

    def update(self, *given):
        assert self.ready
        super().update(*given)

    def extend(self, *given):
        assert self.ready
        return super().extend(*given)


@pytest.mark.parametrize("name", ["ModuleDict", "ModuleList", "ParameterDict", "ParameterList"])
def test_containers_given_nothing_call_nothing(name):
    for framework in (flow, torch):
        kind = type("Own", (NeedsMore, getattr(framework.nn, name)), {})
        assert len(kind()) == 0


@pytest.mark.parametrize("times", [1, 2, 0, 1.5])
def test_sequential_times(times):
    def result(framework):
        layers = framework.nn.Sequential(framework.nn.ReLU(), framework.nn.Tanh())
        outcome = []
        for repeat in (lambda: layers * times, lambda: times * layers, lambda: inplace(layers)):
            try:
                outcome.append([type(result).__name__ for result in repeat()])
            except (TypeError, ValueError) as error:
                outcome.append(type(error))
        return outcome

    def inplace(layers):
        layers *= times
        return layers

    assert result(flow) == result(torch)


@pytest.mark.parametrize("name", ["LazyLinear", "LazyConv2d", "LazyBatchNorm1d"])
def test_lazy_layers_are_copied_and_pickled(name):
    arguments = {"LazyLinear": (3,), "LazyConv2d": (3, 2), "LazyBatchNorm1d": ()}[name]
    layer = getattr(flow.nn, name)(*arguments)
    x = flow.ones(2, 4, 5, 5) if "Conv" in name else flow.ones(2, 4)
    for copied in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        assert type(copied) is type(layer)
        assert copied.has_uninitialized_params()
        assert copied(x).shape == getattr(flow.nn, name)(*arguments)(x).shape


def test_hooks_on_members_of_all_modules():
    def calls(framework, module):
        seen = []

        def note(owner, name, member):
            seen.append((type(owner).__name__, name, type(member).__name__))

        def double(owner, name, member):
            return framework.nn.Parameter(member * 2)

        with (
            module.register_module_parameter_registration_hook(note),
            module.register_module_parameter_registration_hook(double),
            module.register_module_buffer_registration_hook(note),
            module.register_module_module_registration_hook(note),
        ):
            root = framework.nn.Module()
            root.weight = framework.nn.Parameter(framework.ones(1))
            root.register_parameter("nothing", None)
            root.register_buffer("count", framework.ones(1))
            root.count = framework.zeros(1)
            root.child = framework.nn.ReLU()
            root.add_module("other", framework.nn.ReLU())
        root.late = framework.nn.ReLU()
        return seen, root.weight.item()

    ours = calls(flow, in_place_of("torch.nn.modules.module"))
    assert ours == calls(torch, torch.nn.modules.module)


# --- values seen as another dtype


@pytest.mark.parametrize("shape", [(4,), (2, 4), ()])
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("float32", "complex64"),
        ("complex64", "float32"),
        ("complex128", "complex64"),
        ("complex64", "complex128"),
        ("complex64", "int64"),
        ("float64", "complex64"),
        ("int16", "complex64"),
    ],
)
def test_complex_numbers_are_seen_as_their_parts(before, after, shape):
    def seen(framework):
        numbers = framework.arange(4.0).expand(shape) if shape else framework.tensor(3.0)
        x = numbers.to(getattr(framework, before)).contiguous() + 1
        try:
            view = x.view(getattr(framework, after))
        except RuntimeError:
            return None
        written = tuple(view.shape), view.tolist()
        view.zero_()
        return written, x.tolist()

    assert seen(flow) == seen(torch)


# --- files


class Settings:
    """A class of the user's."""

    def __init__(self):
        self.weight, self.name = None, "a"


def round_trip(module, value, **options):
    return module.load(saved(module, value), **options)


def test_objects_are_loaded_on_trust():
    framework = in_place_of("torch")
    settings = Settings()
    settings.weight = flow.tensor([1.0, 2.0])
    value = {"args": argparse.Namespace(a=1), "settings": settings, "again": settings.weight}
    loaded = round_trip(framework, value, weights_only=False)
    assert loaded["args"] == argparse.Namespace(a=1)
    assert loaded["settings"].weight.tolist() == [1.0, 2.0]
    assert loaded["settings"].name == "a"
    loaded["again"][0] = 5
    assert loaded["settings"].weight.tolist() == [5.0, 2.0]
    for options in ({}, {"weights_only": True}):
        with pytest.raises(RuntimeError, match=r"Settings.*weights_only=False"):
            round_trip(framework, value, **options)


def test_classes_can_be_declared_safe():
    framework, serialization = in_place_of("torch"), in_place_of("torch.serialization")
    with serialization.safe_globals([Settings]):
        assert serialization.get_safe_globals() == [Settings]
        assert round_trip(framework, Settings()).name == "a"
        with pytest.raises(RuntimeError, match="Hidden"):
            round_trip(framework, Hidden())
    assert not serialization.get_safe_globals()


class Hidden(Settings):
    """Another one."""


def test_what_cannot_be_pickled_says_where_it_is():
    with pytest.raises(TypeError, match=r"cannot save settings\.x"):
        in_place_of("torch").save({"settings": {"x": (letter for letter in "a")}}, io.BytesIO())
    with pytest.raises(TypeError, match="cannot save the object"):
        flow.save(Settings(), io.BytesIO())


def test_objects_in_files_of_pytorch():
    settings = Settings()
    settings.weight = torch.arange(6.0).reshape(2, 3).t()
    file = io.BytesIO()
    torch.save({"settings": settings, "weight": settings.weight}, file)
    for options in ({}, {"weights_only": True}):
        file.seek(0)
        with pytest.raises(RuntimeError, match="Settings"):
            flow.load(file, **options)
    file.seek(0)
    loaded = flow.load(file, weights_only=False)
    assert type(loaded["settings"]) is Settings
    assert loaded["settings"].weight.tolist() == settings.weight.tolist()
    assert loaded["weight"].tolist() == settings.weight.tolist()


def test_options_of_saving_and_loading():
    framework = in_place_of("torch")
    x = flow.ones(2)
    for given in (lambda storage, location: storage, lambda storage, location: None, "cpu"):
        assert round_trip(framework, x, map_location=given, encoding="latin1").tolist() == [1, 1]
    file = io.BytesIO()
    framework.save(x, file, pickle, _use_new_zipfile_serialization=False)
    assert file.tell()


def test_averaged_models_are_pickled():
    averages = in_place_of("torch.optim.swa_utils")
    for function in (None, averages.get_ema_avg_fn(0.5)):
        model = averages.AveragedModel(flow.nn.Linear(1, 1), avg_fn=function)
        copied = pickle.loads(pickle.dumps(model))
        copied.update_parameters(flow.nn.Linear(1, 1))
        assert copied.n_averaged.item() == 1


def test_momenta_of_groups():
    def momenta(framework):
        groups = [{"params": [framework.ones(1, requires_grad=True)]} for _ in range(2)]
        optimizer = framework.optim.SGD(groups, lr=0.1, momentum=0.9)
        schedule = framework.optim.lr_scheduler.CyclicLR(
            optimizer, 0.1, 0.2, 3, base_momentum=[0.5, 0.8], max_momentum=[0.6, 0.9]
        )
        found = []
        for _ in range(4):
            optimizer.step()
            schedule.step()
            found += [group["momentum"] for group in optimizer.param_groups]
        return found

    assert momenta(flow) == pytest.approx(momenta(torch))


# --- switches of libraries


def test_switches_of_libraries_are_kept():
    cuda, cudnn = in_place_of("torch.backends.cuda"), in_place_of("torch.backends.cudnn")
    before = flow.get_float32_matmul_precision()
    try:
        for allowed, precision in ((False, "highest"), (True, "high")):
            cuda.matmul.allow_tf32 = allowed
            assert cuda.matmul.allow_tf32 is allowed
            assert flow.get_float32_matmul_precision() == precision
            cuda.matmul.fp32_precision = cuda.matmul.fp32_precision
            assert flow.get_float32_matmul_precision() == precision
        with pytest.raises(RuntimeError, match="fp32_precision"):
            cuda.matmul.fp32_precision = "half"
    finally:
        flow.set_float32_matmul_precision(before)
    for name in ("flash", "mem_efficient", "math", "cudnn"):
        is_enabled = getattr(cuda, f"{name}_sdp_enabled")
        getattr(cuda, f"enable_{name}_sdp")(False)
        assert not is_enabled()
        getattr(cuda, f"enable_{name}_sdp")(True)
        assert is_enabled()
    with cuda.sdp_kernel(enable_flash=False), cudnn.flags(enabled=True, benchmark=False):
        assert not cuda.flash_sdp_enabled()
    assert cuda.flash_sdp_enabled()


def test_fans_of_weights():
    ours, theirs = in_place_of("torch.nn.init"), torch.nn.init
    for shape in ((2, 3), (4, 3, 2, 2)):
        for mode in ("fan_in", "fan_out"):
            assert ours._calculate_correct_fan(
                flow.ones(shape), mode
            ) == theirs._calculate_correct_fan(torch.ones(shape), mode)


def test_modules_of_symbolic_graphs_are_modules():
    assert issubclass(in_place_of("torch.fx").GraphModule, flow.nn.Module)


# --- gradients between steps


@pytest.mark.parametrize("owner", ["optimizer", "module"])
@pytest.mark.parametrize("given", [{}, {"set_to_none": True}, {"set_to_none": False}])
def test_zero_grad_removes_gradients_as_the_library_does_whose_name_is_used(owner, given):
    def gradient(framework):
        layer = framework.nn.Linear(2, 1)
        optimizer = framework.optim.SGD(layer.parameters(), lr=0.1)
        layer(framework.ones(1, 2)).sum().backward()
        (optimizer if owner == "optimizer" else layer).zero_grad(**given)
        grad = layer.weight.grad
        return None if grad is None else grad.tolist()

    assert gradient(flow) == (None if given.get("set_to_none") else [[0.0, 0.0]])
    expected = gradient(torch)
    with mock_torch.enable():
        assert gradient(flow) == expected


# --- modules of devices


def test_modules_of_devices_say_what_there_is():
    def found(framework):
        modules = [framework.cpu, framework.xpu, framework.mtia, framework.mps]
        counts = [(module.is_available(), module.device_count()) for module in modules]
        same = framework.get_device_module("cpu") is framework.get_device_module("cpu:0")
        cpu = framework.cpu.current_device(), framework.cpu.synchronize()
        for name in ("nothing", "nn", "optim"):
            with pytest.raises(RuntimeError):
                framework.get_device_module(name)
        return counts, same, cpu, framework.get_device_module(framework.device("cpu")).__name__

    assert found(in_place_of("torch")) == found(torch)


def normalization_of_another_rank(library):
    class BatchNorm(library.nn.modules.batchnorm._BatchNorm):
        def _check_input_dim(self, input):
            assert input.ndim == 3

    class InstanceNorm(library.nn.modules.instancenorm._InstanceNorm):
        def _check_input_dim(self, input):
            return

        def _get_no_batch_dim(self):
            return 3

    x = library.arange(24.0).reshape(2, 3, 4) ** 2
    results = [BatchNorm(3)(x), InstanceNorm(2)(x), InstanceNorm(2)(x[None])]
    numbers = [
        layer._get_no_batch_dim() for layer in (library.nn.InstanceNorm1d(1), InstanceNorm(1))
    ]
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        library.nn.InstanceNorm1d(5)(x)
    try:
        library.nn.InstanceNorm1d(5, affine=True)(x)
    except ValueError:
        numbers.append(len(found))
    return [result.detach() for result in results], numbers


def test_layers_of_users_normalize_other_ranks():
    library = in_place_of("torch")
    with mock_torch.enable():
        found = normalization_of_another_rank(library)
    expected = normalization_of_another_rank(torch)
    assert difference(found, expected) is None


def test_what_does_not_fit_a_state_is_listed_in_the_order_of_pytorch():
    def message(framework):
        layers = framework.nn.Sequential(framework.nn.Linear(2, 2), framework.nn.BatchNorm1d(2))
        state = {"0.weight": framework.ones(3, 2), "0.bias": framework.ones(2), "other": None}
        with pytest.raises(RuntimeError) as raised:
            layers.load_state_dict(state)
        return str(raised.value)

    with enabled():
        in_place = message(in_place_of("torch"))
    assert in_place == message(torch)
