"""Handles of hooks that are attributes of their module, in copies and files of the module."""

from __future__ import annotations

import copy
import io
import pickle

import pytest
import torch

import oneflow as flow
from tests.in_place import in_place_of

OURS = in_place_of("torch")
KINDS = {
    "forward_pre": "register_forward_pre_hook",
    "forward": "register_forward_hook",
    "backward_pre": "register_full_backward_pre_hook",
    "backward": "register_full_backward_hook",
    "state_dict_pre": "register_state_dict_pre_hook",
    "load_state_dict_pre": "register_load_state_dict_pre_hook",
    "load_state_dict_post": "register_load_state_dict_post_hook",
}


class Once:
    """A mixin of modules whose hooks count calls, and take themselves away at the first."""

    def start(self):
        self.calls = dict.fromkeys(KINDS, 0)
        self.handles = {kind: self.register(kind) for kind in KINDS}

    def register(self, kind):
        return getattr(self, KINDS[kind])(getattr(self, f"at_{kind}"))

    def called(self, kind):
        self.calls[kind] += 1
        self.handles[kind].remove()


for _kind in KINDS:
    setattr(Once, f"at_{_kind}", lambda self, *arguments, _kind=_kind: self.called(_kind))
    getattr(Once, f"at_{_kind}").__name__ = f"at_{_kind}"


class OnceOfOneFlow(Once, flow.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = flow.nn.Parameter(flow.ones(2))
        self.start()

    def forward(self, x):
        return x * self.weight


class OnceOfPyTorch(Once, torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(2))
        self.start()

    def forward(self, x):
        return x * self.weight


def saved(f, module):
    """The module that a file holds."""
    file = io.BytesIO()
    f.save(module, file)
    file.seek(0)
    return f.load(file, weights_only=False)


COPIES = {
    "itself": lambda f, module: module,
    "deepcopy": lambda f, module: copy.deepcopy(module),
    "copy of a copy": lambda f, module: copy.deepcopy(copy.deepcopy(module)),
    "in another module": lambda f, module: copy.deepcopy(f.nn.Sequential(module))[0],
    "pickle": lambda f, module: pickle.loads(pickle.dumps(module)),
    "file": saved,
}


@pytest.mark.parametrize("name", COPIES)
def test_handles_of_a_copy_take_the_hooks_from_the_copy(name):
    def outcome(f, kind):
        module = kind()
        copied = COPIES[name](f, module)
        for _ in range(2):
            copied(f.ones(2, requires_grad=True)).sum().backward()
            copied.load_state_dict(copied.state_dict())
        later = copied.register("forward")  # its number is that of no other hook
        copied(f.ones(2))
        later.remove()
        registries = ("_forward_pre_hooks", "_forward_hooks", "_backward_hooks")
        return copied.calls, module.calls, [len(getattr(module, x)) for x in registries]

    assert outcome(OURS, OnceOfOneFlow) == outcome(torch, OnceOfPyTorch)


class OneHook:
    """A module of a package with a hook whose handle it holds."""

    @staticmethod
    def of(f):
        module = f.nn.Linear(2, 2)
        module.handle = module.register_forward_pre_hook(hook_with_keywords, with_kwargs=True)
        return module


def hook_with_keywords(module, args, kwargs):
    module.handle.remove()
    return (args[0] * 0,), kwargs


@pytest.mark.parametrize("reader", ["here", "torch"])
@pytest.mark.parametrize("writer", ["here", "torch"])
def test_handles_travel_between_both_packages(writer, reader):
    libraries = {"here": OURS, "torch": torch}
    file = io.BytesIO()
    libraries[writer].save(OneHook.of(libraries[writer]), file)
    file.seek(0)
    f = libraries[reader]
    module = f.load(file, weights_only=False)
    assert isinstance(module, f.nn.Linear)
    x = f.ones(1, 2)
    first, second = module(x), module(x)
    assert f.equal(first[0], module.bias)
    assert not f.equal(second[0], module.bias)
    assert not module._forward_pre_hooks


def test_a_handle_without_its_module_does_nothing():
    handle = flow.nn.ReLU().register_forward_hook(print)
    for one in (handle, copy.deepcopy(handle), pickle.loads(pickle.dumps(handle))):
        one.remove()


def test_numbers_of_hooks_from_a_file_are_not_given_twice():
    module = flow.nn.ReLU()
    number = module.register_forward_hook(lambda *_: None).id + 1
    module._forward_hooks[number] = lambda *_: None
    assert module.register_forward_hook(lambda *_: None).id != number
    assert len(module._forward_hooks) == 3
