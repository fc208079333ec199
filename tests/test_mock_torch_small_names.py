"""Names of PyTorch that libraries use here and there act as PyTorch's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
import torch.onnx.operators

from tests.in_place import in_place_of

OURS = in_place_of("torch")
for name in ("torch.onnx.operators", "torch._utils", "torch.distributed", "torch._C"):
    in_place_of(name)


def numbers(lib: Any, *shape: int) -> Any:
    return lib.tensor(np.random.default_rng(shape).standard_normal(shape))


def caught(lib: Any, error: Exception) -> str:
    """The first line of an exception that is raised again, and its type."""
    try:
        raise error
    except Exception:
        wrapper = lib._utils.ExceptionWrapper(where="in a thread")
    with pytest.raises(Exception) as again:  # noqa: PT011 - its type is compared
        wrapper.reraise()
    return f"{again.typename}: {str(again.value).splitlines()[0]}"


class TwoTextsError(Exception):
    def __init__(self, first: str, second: str) -> None:
        super().__init__(first, second)


class MessageError(Exception):
    message = "none yet"

    def __init__(self, code: int = 0, message: str = "") -> None:
        super().__init__(message)


def nesting(lib: Any) -> list[int]:
    levels = [lib.autocast_increment_nesting() for _ in range(2)]
    return levels + [lib.autocast_decrement_nesting() for _ in range(2)]


def autocast_on(lib: Any, home: Any) -> list[Any]:
    before = lib.is_autocast_cpu_enabled(), home.is_autocast_enabled("cpu")
    home.set_autocast_cpu_enabled(True)
    dtype = (lib.ones(2, 2) @ lib.ones(2, 2)).dtype
    after = lib.is_autocast_cpu_enabled(), home.get_autocast_cpu_dtype()
    lib.set_autocast_cpu_enabled(False)
    names = [str(kind).rpartition(".")[2] for kind in (*after, dtype)]
    return [*before, *names, home.is_autocast_enabled("cpu")]


def clipped(lib: Any) -> list[Any]:
    parameter = lib.nn.Parameter(numbers(lib, 3))
    (parameter**2).sum().backward()
    with pytest.warns(FutureWarning, match="clip_grad_norm_"):
        norm = lib.nn.utils.clip_grad_norm([parameter], 0.5)
    return [norm.item(), parameter.grad.tolist()]


def converted(lib: Any, dims: int) -> Any:
    conv = getattr(lib.nn, f"Conv{dims}d")
    model = lib.nn.Sequential(conv(2, 3, 2), lib.nn.Sequential(conv(3, 4, 2, bias=False)))
    before = [parameter.detach().clone() for parameter in model.parameters()]
    convert = getattr(lib.nn.utils, f"convert_conv{dims}d_weight_memory_format")
    memory_format = lib.channels_last if dims == 2 else lib.channels_last_3d
    assert convert(model, memory_format) is model
    assert all((b == p).all() for b, p in zip(before, model.parameters(), strict=True))
    with pytest.raises(TypeError):
        convert(model, 3)
    return before[0].shape


def index_of(lib: Any, *arguments: Any, **options: Any) -> Any:
    try:
        return lib._utils._get_device_index(*arguments, **options)
    except ValueError as error:
        return type(error).__name__


def debug_levels(lib: Any) -> list[str]:
    distributed = lib.distributed
    found = [distributed.get_debug_level().name]
    distributed.set_debug_level(distributed.DebugLevel.DETAIL)
    found.append(distributed.get_debug_level().name)
    distributed.set_debug_level_from_env()
    return [*found, distributed.get_debug_level().name, *distributed.DebugLevel.__members__]


def default_backend(lib: Any, device: str) -> str:
    try:
        return lib.distributed.get_default_backend_for_device(device)
    except ValueError:
        return "none"


class _OfLibrary:
    def __init__(self, lib: Any) -> None:
        class Named:
            @lib._utils.classproperty
            def name(cls) -> str:
                return cls.__name__

        self.names = Named.name, Named().name, type("Other", (Named,), {}).name


def conv_tbc(lib: Any, home: Any, pad: int) -> list[Any]:
    operands = [numbers(lib, *shape).requires_grad_() for shape in ((5, 2, 3), (2, 3, 4), (4,))]
    result = home.conv_tbc(*operands, pad)
    (result**2).sum().backward()
    return [np.round(x.detach().numpy(), 9).tolist() for x in (result, *(o.grad for o in operands))]


CALLS: dict[str, Callable[[Any], Any]] = {
    "an error": lambda lib: caught(lib, ValueError("three")),
    "a KeyError": lambda lib: caught(lib, KeyError("three")),
    "an error of two texts": lambda lib: caught(lib, TwoTextsError("one", "two")),
    "an error with a message": lambda lib: caught(lib, MessageError(3)),
    "a property of a class": lambda lib: _OfLibrary(lib).names,
    "nesting": nesting,
    "nesting in C++": lambda lib: nesting(lib._C),
    "autocast": lambda lib: autocast_on(lib, lib),
    "autocast in C++": lambda lib: autocast_on(lib, lib._C),
    "clipping": clipped,
    "conv2d": lambda lib: converted(lib, 2),
    "conv3d": lambda lib: converted(lib, 3),
    "index of a device": lambda lib: index_of(lib, "cuda:3"),
    "no index of a device": lambda lib: index_of(lib, "cuda"),
    "index itself": lambda lib: index_of(lib, 2),
    "index of the CPU": lambda lib: index_of(lib, "cpu", allow_cpu=True),
    "index of the CPU alone": lambda lib: index_of(lib, "cpu"),
    "no index": lambda lib: index_of(lib, None),
    "debug levels": debug_levels,
    "backend": lambda lib: [default_backend(lib, kind) for kind in ("cpu", "cuda:1", "meta")],
    "a shape": lambda lib: lib.onnx.operators.shape_as_tensor(lib.ones(2, 3)).tolist(),
    "a reshape": lambda lib: [
        *lib.onnx.operators.reshape_from_tensor_shape(lib.ones(6), lib.tensor([2, -1])).shape
    ],
    "conv_tbc": lambda lib: conv_tbc(lib, lib, 1),
    "conv_tbc of layers": lambda lib: conv_tbc(lib, lib.nn.functional, 0),
    "shuffled channels": lambda lib: [
        home.native_channel_shuffle(numbers(lib, 2, 4, 1, 2), 2).tolist()
        for home in (lib, lib.nn.functional)
    ],
}


@pytest.mark.filterwarnings("ignore:torch.*autocast_cpu:DeprecationWarning")
@pytest.mark.parametrize("name", CALLS)
def test_small_names_act_as_pytorchs(name: str) -> None:
    assert CALLS[name](OURS) == CALLS[name](torch)


def test_bad_levels_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCH_DISTRIBUTED_DEBUG", "LOUD")
    with pytest.raises(RuntimeError, match="must be one of OFF, INFO, DETAIL, got LOUD"):
        OURS.distributed.set_debug_level_from_env()
    with pytest.raises(TypeError, match="must be a DebugLevel"):
        OURS.distributed.set_debug_level(2)


def test_tensors_sent_at_once_have_one_dtype() -> None:
    ones = OURS.ones(2)
    with pytest.raises(TypeError, match=r"one dtype and device, got .*DoubleTensor and"):
        OURS.distributed.all_reduce_coalesced([ones, ones.double()])
    with pytest.raises(TypeError, match="got none"):
        OURS.distributed.all_reduce_coalesced([])
    with pytest.raises(ValueError, match="has 2 lists, and there are 1 processes"):
        OURS.distributed.all_gather_coalesced([[ones], [ones]], [ones])
