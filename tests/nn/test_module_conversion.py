"""Conversion of modules by subclasses."""

from __future__ import annotations

import pytest

import oneflow as flow


def test_a_module_may_write_to_by_means_of_cpu():
    class Index(flow.nn.Linear):
        def to(self, device):
            return self.cpu() if device == "cpu" else self.cuda(device)

        def cpu(self):
            self.moved = True
            return super().cpu()

    module = Index(2, 2).to("cpu")
    assert module.moved
    assert module.weight.device.type == "cpu"
    with pytest.raises(RuntimeError, match="cuda"):
        module.to("cuda:77")
