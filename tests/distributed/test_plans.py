"""A law: however training is spread over devices, its losses are those of one device.

One process runs all ranks here, but for `DistributedDataParallel`.
"""

import json

import numpy as np
import pytest

import oneflow as flow
from examples import plans
from tests.distributed.launching import assert_succeeds
from tests.distributed.training_runs import MODELS, STEPS, TOLERANCE, one_device_losses, seeded

B, S = flow.sbp.broadcast, flow.sbp.split
LINE = flow.placement("cpu", [0, 1, 2, 3])
GRID = flow.placement("cpu", [[0, 1], [2, 3]])

# The layout of parameters and inputs, their devices, and the training state that is split as well.
ONE_PLACEMENT = {
    "data parallel": (LINE, "data", 0),
    "tensor parallel": (LINE, "tensor", 0),
    "2-D": (GRID, "2d", 0),
    "ZeRO 1": (LINE, "data", 1),
    "ZeRO 2": (LINE, "data", 2),
    "ZeRO 3": (LINE, "data", 3),
}
SAMPLED_PLANS = 3


def assert_losses_are_right(kind, graph, inputs):
    losses = [graph(*inputs).numpy().mean() for _ in range(STEPS)]
    np.testing.assert_allclose(losses, one_device_losses(kind), rtol=TOLERANCE)


# One model in a sample, here and below, which one device has to train only once; half of the plans.
CASES = [
    (kind, plan)
    for first in range(0, len(ONE_PLACEMENT), SAMPLED_PLANS)
    for kind in MODELS
    for plan in [*ONE_PLACEMENT][first : first + SAMPLED_PLANS]
]


@pytest.mark.parametrize("plan", ONE_PLACEMENT)
@pytest.mark.parametrize("kind", MODELS)
def test_losses_on_one_placement(kind, plan, sample):
    sample.take_turns(CASES, (kind, plan), SAMPLED_PLANS)
    placement, strategy, zero = ONE_PLACEMENT[plan]
    model, optimizer, inputs = seeded(kind)
    sbp = plans.lay(kind, model, placement, strategy)
    graph = plans.Training(model, optimizer(model), zero)
    assert_losses_are_right(kind, graph, plans.placed(inputs, placement, sbp))


# The modules of the second stage, and which inputs they take.
SECOND_STAGE = {
    "mlp": (("layers.2", "layers.3", "layers.4"), (1,)),
    "gpt": (("norm", "head"), (1,)),
    "wide_deep": (("wide", "layers", "numbers"), (1, 2)),
}
FIRST, SECOND = flow.placement("cpu", [0, 1]), flow.placement("cpu", [2, 3])


class Pipeline(plans.Training):
    """Two stages, the second of them these modules; two micro batches."""

    def __init__(self, model, optimizer, second):
        super().__init__(model, optimizer)
        self.config.set_gradient_accumulation_steps(2)
        for path in second:
            block = self.model
            for name in path.split("."):
                block = block[int(name)] if name.isdigit() else getattr(block, name)
            block.config.stage_id = 1


@pytest.mark.parametrize("kind", MODELS)
def test_losses_of_a_pipeline(kind, sample):
    sample.take_turns(MODELS, kind)
    second, late = SECOND_STAGE[kind]
    model, optimizer, inputs = seeded(kind)
    model.to_global(FIRST, B)
    for path in second:
        model.get_submodule(path).to_global(SECOND, B)
    graph = Pipeline(model, optimizer(model), second)
    spread = [
        tensor.to_global(SECOND if index in late else FIRST, B).to_global(sbp=S(0))
        for index, tensor in enumerate(inputs)
    ]
    assert_losses_are_right(kind, graph, spread)


@pytest.mark.multiprocess
@pytest.mark.xdist_group("processes")
def test_losses_of_ddp(sample):
    expected = {kind: one_device_losses(kind) for kind in sample.rotation(MODELS)}
    assert_succeeds("ddp_losses.py", json.dumps(expected))
