"""Detectors as parts of graphs, where sizes must not depend on values."""

from __future__ import annotations

import numpy as np
import pytest

import oneflow as flow
from flowvision.layers.blocks import MultiScaleRoIAlign
from flowvision.models.detection import pad_targets
from tests.flowvision.detectors import KINDS, tiny_detector
from tests.sampling import Sample

_BOXES, _LABELS = flow.tensor([[10.0, 10, 50, 40], [5.0, 20, 30, 60]]), flow.tensor([1, 2])


class _Detection(flow.nn.Graph):
    def __init__(self, model: flow.nn.Module) -> None:
        super().__init__()
        self.model = model

    def build(self, *images: flow.Tensor) -> list[dict[str, flow.Tensor]]:
        return self.model(list(images))


class _Training(flow.nn.Graph):
    def __init__(self, model: flow.nn.Module, optimizer: flow.optim.Optimizer) -> None:
        super().__init__()
        self.model = model
        self.add_optimizer(optimizer)

    def build(self, image: flow.Tensor, target: dict[str, flow.Tensor]) -> flow.Tensor:
        losses = self.model([image], [target])
        total = sum(losses.values())
        total.backward()
        return total


def _talkative(kind: str) -> flow.nn.Module:
    """A detector that finds something: fresh ones say the same everywhere."""
    model = tiny_detector(kind)
    with flow.no_grad():
        for parameter in model.parameters():
            parameter.copy_(0.1 * flow.randn(*parameter.shape))
    return model.double()  # in which hardly two scores are equal


@pytest.mark.one_in(6)
@pytest.mark.parametrize("kind", KINDS)
def test_detections_are_filled_up(kind: str) -> None:
    model = _talkative(kind).eval()
    images = [flow.rand(3, 64, 80).double(), flow.rand(3, 72, 64).double()]
    with flow.no_grad():
        scores = model(images)[0]["scores"]
    getattr(model, "roi_heads", model).score_thresh = scores.mean().item()
    graph = _Detection(model)
    for given in (images, [image.flip(2) for image in images]):
        with flow.no_grad():
            everything = model(given)
        for wanted, found in zip(everything, graph(*given), strict=True):
            count = len(wanted["scores"])
            assert set(found) == set(wanted)
            assert 0 < count < len(found["scores"])
            for name, values in wanted.items():
                first = found[name][:count].numpy()
                np.testing.assert_allclose(first, values.numpy(), atol=1e-6, err_msg=name)
                assert not found[name][count:].numpy().any(), name


def _target(kind: str, image: flow.Tensor, objects: int = 2) -> dict[str, flow.Tensor]:
    target = {"boxes": _BOXES[:objects], "labels": _LABELS[:objects]}
    if kind == "mask_rcnn":
        target["masks"] = flow.rand(objects, *image.shape[1:]) > 0.4
    return target


def _take_few(model: flow.nn.Module) -> None:
    """Let both stages of R-CNN learn from fewer boxes than there are."""
    model.roi_heads.fg_bg_sampler.batch_size_per_image = 12
    model.rpn.fg_bg_sampler.batch_size_per_image = 20


@pytest.mark.one_in(8)
@pytest.mark.parametrize(
    ("kind", "few"),
    [*((kind, False) for kind in KINDS), ("faster_rcnn", True), ("mask_rcnn", True)],
)
def test_a_step_of_training_is_that_of_eager_mode(kind: str, few: bool) -> None:
    image, models = flow.rand(3, 64, 80).double(), []
    for _ in range(2):
        flow.manual_seed(3)
        models.append(_talkative(kind).train())
        if few:
            _take_few(models[-1])
    in_graph, eager = models
    target = _target(kind, image)
    optimizers = [flow.optim.SGD(model.parameters(), lr=1e-3) for model in models]
    flow.manual_seed(4)
    total = _Training(in_graph, optimizers[0])(image, target)
    flow.manual_seed(4)
    losses = eager([image], [target])
    wanted = sum(losses.values())
    np.testing.assert_allclose(total.item(), wanted.item(), rtol=1e-9)
    before = {name: parameter.numpy().copy() for name, parameter in eager.named_parameters()}
    wanted.backward()
    optimizers[1].step()
    after = dict(in_graph.named_parameters())
    for name, parameter in eager.named_parameters():
        atol = 1e-6 * np.abs(parameter.numpy() - before[name]).max() + 1e-12
        np.testing.assert_allclose(after[name].numpy(), parameter.numpy(), 0, atol, err_msg=name)


@pytest.mark.one_in(6)
@pytest.mark.parametrize("kind", ["faster_rcnn", "mask_rcnn"])
def test_an_image_without_objects_trains_in_a_graph(kind: str) -> None:
    model = _talkative(kind).train()
    graph = _Training(model, flow.optim.SGD(model.parameters(), lr=1e-3))
    image = flow.rand(3, 64, 80).double()
    flow.manual_seed(4)
    total = graph(image, _target(kind, image, 0))
    assert np.isfinite(total.item())
    assert all(np.isfinite(parameter.numpy()).all() for parameter in model.parameters())


@pytest.mark.parametrize("kind", KINDS)
def test_one_graph_trains_with_any_number_of_objects(kind: str, sample: Sample) -> None:
    """Padded targets give the losses of eager mode without padding, draws included."""
    sample.take_turns(KINDS, kind)
    image, models = flow.rand(3, 64, 80).double(), []
    for _ in range(2):
        flow.manual_seed(3)
        models.append(_talkative(kind).train())
        if "rcnn" in kind:
            _take_few(models[-1])
    in_graph, eager = models
    graph = _Training(in_graph, flow.optim.SGD(in_graph.parameters(), lr=0.0))
    steps = set()
    for objects in (1, 2, 0):
        target = _target(kind, image, objects)
        flow.manual_seed(4)
        total = graph(image, *pad_targets([target], 4))
        steps.add(graph.last_step)
        for targets in ([target], pad_targets([target], 4)):
            flow.manual_seed(4)
            wanted = sum(eager([image], targets).values())
            np.testing.assert_allclose(total.item(), wanted.item(), rtol=1e-9)
    assert len(steps) == 1


def test_a_target_with_too_many_objects_is_not_padded() -> None:
    with pytest.raises(ValueError, match="target 0 has 2 objects"):
        pad_targets([{"boxes": _BOXES, "labels": _LABELS}], 1)


def test_boxes_of_several_levels() -> None:
    pool = MultiScaleRoIAlign(["0", "1", "2"], 3, 2)
    maps = {str(level): flow.randn(1, 2, 64 >> level, 64 >> level) for level in range(3)}
    boxes = flow.tensor([[0.0, 0, 20, 30], [5, 5, 250, 240], [9, 0, 120, 130]])

    class Pooling(flow.nn.Graph):
        def build(self, boxes: flow.Tensor, *maps: flow.Tensor) -> flow.Tensor:
            named = {str(level): feature_map for level, feature_map in enumerate(maps)}
            return pool(named, [boxes], [(256, 256)])

    found = Pooling()(boxes, *maps.values())
    wanted = pool(maps, [boxes], [(256, 256)])
    np.testing.assert_allclose(found.numpy(), wanted.numpy(), atol=1e-5)
