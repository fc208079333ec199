"""Hooks of all modules, against PyTorch's."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest
import torch

import oneflow as flow
from tests.nn.twins import copy_state, random_array

KINDS = ("forward_pre", "forward", "full_backward_pre", "full_backward")


def run(lib: ModuleType, net, log: list) -> list:
    """The gradients that a pass gives, with hooks of every kind that note what they see."""
    hooks = lib.nn.modules.module

    def note(kind):
        return lambda module, *seen: log.append((kind, type(module).__name__, len(seen)))

    handles = [getattr(hooks, f"register_module_{kind}_hook")(note(kind)) for kind in KINDS]
    own = net[1].register_forward_hook(lambda *_: log.append("own"))
    try:
        x = lib.tensor(random_array(3, 4).astype(np.float32), requires_grad=True)
        net(x).sum().backward()
    finally:
        for handle in (*handles, own):
            handle.remove()
    return [x.grad.numpy(), *(parameter.grad.numpy() for parameter in net.parameters())]


def test_hooks_of_all_modules_run_in_pytorchs_order():
    nets = [lib.nn.Sequential(lib.nn.Linear(4, 3), lib.nn.Tanh()) for lib in (flow, torch)]
    copy_state(*nets)
    logs: list[list] = [[], []]
    results = [run(lib, net, log) for lib, net, log in zip((flow, torch), nets, logs, strict=True)]
    assert logs[0] == logs[1]
    for mine, theirs in zip(*results, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-5, atol=1e-6)
    seen = len(logs[0])
    nets[0](flow.ones(1, 4))
    assert len(logs[0]) == seen  # all of them are gone


@pytest.mark.parametrize("lib", [flow, torch])
def test_hooks_of_all_modules_change_what_passes(lib):
    hooks = lib.nn.modules.module
    layer, x = lib.nn.Identity(), lib.ones(2)
    with (
        hooks.register_module_forward_pre_hook(lambda module, args: (args[0] + 1,)),
        hooks.register_module_forward_hook(lambda module, args, output: output * 3),
    ):
        assert layer(x).tolist() == [6.0, 6.0]
    assert layer(x).tolist() == [1.0, 1.0]
