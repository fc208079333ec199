"""Features named by the v0.6.0 release notes: torchvision's networks run on `oneflow`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.flowvision.torchvision_operators import torchvision
from tests.sampling import Sample

# Without the draws of initial weights, which take longer than the networks.
PLAIN: dict[str, Any] = {"aux_logits": False, "init_weights": False}
NETWORKS: dict[str, dict[str, Any]] = {
    "alexnet": {},
    "vgg11": {"init_weights": False},
    "resnet18": {},
    "densenet121": {},
    "googlenet": PLAIN,
    "inception_v3": PLAIN,
    "mobilenet_v2": {},
    "mnasnet0_5": {},
    "shufflenet_v2_x0_5": {},
    "squeezenet1_1": {},
}
PROGRAM = """
import sys
import numpy as np
from oneflow import mock_torch
mock_torch.enable()
import torch, torchvision
assert torch.__package__ == "oneflow"
folder, name, options = sys.argv[1], sys.argv[2], eval(sys.argv[3])
model = torchvision.models.get_model(name, num_classes=7, **options)
model.load_state_dict(torch.load(folder + "/weights.pth"))
with torch.no_grad():
    result = model.eval()(torch.from_numpy(np.load(folder + "/images.npy")))
np.save(folder + "/result.npy", result.numpy())
"""


@pytest.mark.parametrize("name", NETWORKS)
def test_s001_56_torchvisions_source_runs(name: str, sample: Sample, tmp_path: Path) -> None:
    if name != "squeezenet1_1":  # the smallest, every time
        sample.take(f"s001_56 {name}", one_in=5)
    images = torch.rand(1, 3, 96, 96, generator=torch.Generator().manual_seed(0))
    model = torchvision.models.get_model(name, num_classes=7, **NETWORKS[name]).eval()
    torch.save(model.state_dict(), tmp_path / "weights.pth")
    np.save(tmp_path / "images.npy", images.numpy())
    with torch.no_grad():
        expected = model(images).numpy()
    command = [sys.executable, "-c", PROGRAM, str(tmp_path), name, repr(NETWORKS[name])]
    subprocess.run(command, check=True, timeout=300)
    np.testing.assert_allclose(np.load(tmp_path / "result.npy"), expected, rtol=1e-3, atol=1e-3)
    (tmp_path / "weights.pth").unlink()
