"""Whole models, exported and run by ONNX Runtime at sizes other than the example's."""

from __future__ import annotations

import numpy as np
import pytest

import flowvision
import oneflow as flow
from flowvision.models.registry import registered_models
from oneflow import nn
from oneflow.nn import functional as F
from tests.flowvision.zoo import model_facts
from tests.onnx.runtime import assert_exported, assert_round_trip, operators_of
from tests.oracle import eager_mode

BATCH = {0: {0: "batch"}}


class CausalBlock(nn.Module):
    """A decoder block that keeps keys and values of earlier tokens."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(approximate="tanh"), nn.Linear(4 * width, width)
        )

    def forward(self, x, past_key, past_value):
        n, t, width = x.shape
        parts = self.qkv(self.norm1(x)).reshape(n, t, 3, self.heads, width // self.heads)
        q, k, v = parts.permute(2, 0, 3, 1, 4).unbind(0)
        k, v = flow.cat([past_key, k], 2), flow.cat([past_value, v], 2)
        mixed = F.scaled_dot_product_attention(q, k, v)
        x = x + self.out(mixed.transpose(1, 2).reshape(n, t, width))
        return x + self.mlp(self.norm2(x)), k, v


class GPT(nn.Module):
    """A small GPT-2 with a cache of keys and values."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens, self.places = nn.Embedding(50, 16), nn.Embedding(32, 16)
        self.blocks = nn.ModuleList([CausalBlock(16, 2) for _ in range(2)])
        self.norm = nn.LayerNorm(16)

    def forward(self, tokens, places, *cache):
        x = self.tokens(tokens) + self.places(places)
        kept = []
        for index, block in enumerate(self.blocks):
            x, key, value = block(x, cache[2 * index], cache[2 * index + 1])
            kept += [key, value]
        return (F.linear(self.norm(x), self.tokens.weight), *kept)


def gpt_inputs(batch: int, new: int, past: int):
    places = flow.arange(past, past + new).unsqueeze(0)
    cache = [flow.randn(batch, 2, past, 8) for _ in range(4)]
    return (flow.randint(0, 50, (batch, new)), places, *cache)


def test_gpt_with_a_cache_of_keys_and_values():
    model = GPT().eval()
    new = {0: "batch", 1: "new"}
    past = {0: "batch", 2: "past"}
    sizes = {0: new, 1: {1: "new"}, **dict.fromkeys(range(2, 6), past)}
    others = [gpt_inputs(3, 1, 7), gpt_inputs(1, 4, 2)]
    for opset in (None, 17):
        inputs = gpt_inputs(2, 3, 5)
        proto = assert_exported(model, *inputs, dynamic=sizes, others=others, opset=opset)
        assert_round_trip(proto, model, *others[0])


class BERT(nn.Module):
    """A small encoder with three embeddings and a mask."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(60, 16), nn.Embedding(20, 16)
        self.kinds, self.norm = nn.Embedding(2, 16), nn.LayerNorm(16)
        layer = nn.TransformerEncoderLayer(16, 2, 32, activation="gelu", batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2)
        self.pooler = nn.Linear(16, 16)

    def forward(self, tokens, kinds, mask):
        places = flow.arange(tokens.shape[1])
        x = self.norm(self.words(tokens) + self.places(places) + self.kinds(kinds))
        x = self.encoder(x, src_key_padding_mask=mask == 0)
        return x, flow.tanh(self.pooler(x[:, 0]))


def bert_inputs(batch: int, length: int):
    mask = (flow.arange(length) < length - 1).to(flow.int64).unsqueeze(0).repeat(batch, 1)
    return (
        flow.randint(0, 60, (batch, length)),
        flow.randint(0, 2, (batch, length)),
        mask,
    )


def test_bert():
    sizes = {place: {0: "batch", 1: "length"} for place in range(3)}
    others = [bert_inputs(3, 9)]
    model = BERT().eval()
    proto = assert_exported(model, *bert_inputs(2, 6), dynamic=sizes, others=others)
    assert_round_trip(proto, model, *others[0])


def test_wide_and_deep():
    class WideAndDeep(nn.Module):
        def __init__(self):
            super().__init__()
            self.wide, self.deep = nn.Embedding(40, 1), nn.Embedding(40, 8)
            self.layers = nn.Sequential(
                nn.Linear(3 * 8 + 4, 16), nn.ReLU(), nn.Dropout(0.5), nn.Linear(16, 1)
            )

        def forward(self, numbers, wide, deep):
            features = flow.cat([self.deep(deep).flatten(1), numbers], dim=1)
            return flow.sigmoid(self.wide(wide).sum(1) + self.layers(features))

    def inputs(batch):
        indices = [flow.randint(0, 40, (batch, 3)) for _ in range(2)]
        return (flow.randn(batch, 4), *indices)

    sizes = {place: {0: "batch"} for place in range(3)}
    model = WideAndDeep().eval()
    proto = assert_exported(model, *inputs(2), dynamic=sizes, others=[inputs(5)])
    assert_round_trip(proto, model, *inputs(5))


@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU, nn.RNN])
def test_recurrent_layers_are_operators(kind, bidirectional):
    layer = kind(4, 5, num_layers=2, batch_first=True, bidirectional=bidirectional)
    sizes = {0: {0: "batch", 1: "length"}}
    others = [(flow.randn(3, 7, 4),)]
    proto = assert_exported(layer, flow.randn(2, 4, 4), dynamic=sizes, others=others)
    assert operators_of(proto).count(kind.__name__) == 2 * (1 + bidirectional)
    assert_round_trip(proto, layer, *others[0])


def test_lstm_with_projections_is_written_step_by_step():
    for length in (5, 70):
        layer, x = nn.LSTM(4, 6, proj_size=3), flow.randn(length, 2, 4)
        proto = assert_exported(layer, x)
        assert ("Scan" in operators_of(proto)) == (length > 64)
        assert_round_trip(proto, layer, x)


def test_detection_head_on_regions():
    def heads(features, boxes):
        pooled = flow.roi_align(features, boxes, 1.0, 2, 2, 2, True)
        return F.softmax(pooled.flatten(1)[:, :4], 1)

    boxes = flow.tensor([[0, 0.5, 0.5, 4.0, 5.0], [1, 1.0, 0.0, 5.0, 3.0]])
    assert_exported(heads, flow.randn(2, 3, 8, 8), boxes, tolerance=1e-3)


def test_global_model():
    placement = flow.placement("cpu", [0, 1])
    model = nn.Sequential(nn.Linear(6, 8), nn.GELU(), nn.Linear(8, 4))
    expected = {name: parameter.numpy() for name, parameter in model.named_parameters()}
    x = flow.randn(4, 6)
    wanted = model(x).numpy()
    model.to_global(placement, flow.sbp.broadcast)
    model[0].to_global(placement, flow.sbp.split(0))
    given = x.to_global(placement, flow.sbp.broadcast)

    class Parallel(nn.Graph):
        def __init__(self):
            super().__init__()
            self.model = model

        def build(self, x):
            return self.model(x).to_global(sbp=flow.sbp.broadcast)

    proto = flow.onnx.export(Parallel(), given, opset_version=13)
    weights = {
        initializer.name.removeprefix("model."): initializer
        for initializer in proto.graph.initializer
    }
    assert weights.keys() == expected.keys()
    import onnxruntime

    session = onnxruntime.InferenceSession(
        proto.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    (result,) = session.run(None, {"x": x.numpy()})
    np.testing.assert_allclose(result, wanted, rtol=1e-4, atol=1e-5)


# --- flowvision

# Families whose smallest images are those they were made for take long: they run with --exhaustive.
SMALL = ("squeezenet", "shufflenet_v2", "mobilenet_v3", "mnasnet", "resnet")


def smallest_of_each_family() -> list[str]:
    """The model with the fewest parameters of every family of classification models."""
    facts = model_facts()
    chosen: dict[str, tuple[int, str]] = {}
    for registered in registered_models():
        model = (
            flowvision.models.registry.find_model(registered)
            if isinstance(registered, str)
            else registered
        )
        if model.task != "image classification" or model.name not in facts:
            continue
        entry = (int(facts[model.name]["parameters"]), model.name)
        family = model.module.rpartition(".")[2]
        chosen[family] = min(chosen.get(family, entry), entry)
    return sorted(name for _, name in chosen.values())


def redraw_constants(model: nn.Module) -> None:
    """Draw parameters that are constant anew: heads of zeros say nothing."""
    random = np.random.default_rng(0)
    for parameter in model.parameters():
        values = parameter.numpy()
        if values.size and (values == values.flat[0]).all():
            centre = 1.0 if values.flat[0] == 1 else 0.0
            noise = centre + 0.1 * random.standard_normal(values.shape)
            parameter.data.copy_(flow.tensor(noise.astype(np.float32)))


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", smallest_of_each_family())
def test_classification_model(name: str, exhaustive: bool) -> None:
    family = model_facts()[name]["family"]
    size = flowvision.models.registry.find_model(name).image_size
    if not exhaustive and family not in SMALL:
        pytest.skip("large; run with --exhaustive")
    with eager_mode("cold"):
        model = getattr(flowvision.models, name)(num_classes=10).eval()
        redraw_constants(model)
        images = flow.randn(2, 3, size, size)
        spread = flow.randn(3, 3, size, size)
        proto = assert_exported(model, images, dynamic=BATCH, others=[(spread,)], tolerance=1e-3)
        assert_round_trip(proto, model, spread, tolerance=1e-3)
