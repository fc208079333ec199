"""Images whose contrast is stretched to the full range."""

import numpy as np
import pytest
import torch

import oneflow as flow
from flowvision.transforms import functional as F
from tests.flowvision import zoo  # noqa: F401 - lets torchvision be imported

torchvision = pytest.importorskip("torchvision")


@pytest.mark.parametrize("dtype", [np.uint8, np.int16])
def test_every_range_of_bytes_as_torchvision_stretches_it(dtype: type):
    levels = np.stack([np.zeros(255), np.arange(1, 256)], axis=1).astype(dtype)[:, None, None]
    theirs = torchvision.transforms.functional.autocontrast(torch.from_numpy(levels))
    assert F.autocontrast(flow.tensor(levels)).numpy().tolist() == theirs.numpy().tolist()
