"""Sentence transformers: modules, losses and similarities, on a small random model."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import torch
import transformers
from sentence_transformers import SentenceTransformer, util
from sentence_transformers.base.modules import Transformer
from sentence_transformers.sentence_transformer import losses, modules
from tools.third_party.measure import array, arrays, numbers, set_values, step

_TEXT = "[PAD] [UNK] [CLS] [SEP] [MASK] a cat dog sat on the mat runs fast two birds fly"
_WORDS = _TEXT.split(" ")
_SENTENCES = ["a cat sat on the mat", "the dog runs fast", "two birds fly"]
_OTHERS = ["the cat", "a dog runs", "birds fly fast"]


def _folder() -> str:
    folder = Path("model")
    folder.mkdir(exist_ok=True)
    (folder / "vocab.txt").write_text("\n".join(_WORDS))
    configuration = transformers.BertConfig(
        vocab_size=len(_WORDS),
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
    )
    transformers.BertModel(configuration).save_pretrained(folder)
    transformers.BertTokenizer(str(folder / "vocab.txt")).save_pretrained(folder)
    return str(folder)


def _model(*more: Any) -> SentenceTransformer:
    transformer = Transformer(_folder())
    pooling = modules.Pooling(16, pooling_mode="mean")
    return SentenceTransformer(modules=[transformer, pooling, *more], device="cpu")


def _features(model: SentenceTransformer, sentences: list[str]) -> dict[str, torch.Tensor]:
    return dict(model.tokenize(sentences))


_LABELS = {
    "CosineSimilarityLoss": torch.tensor([0.2, 0.9, 0.4], dtype=torch.float64),
    "ContrastiveLoss": torch.tensor([0, 1, 1]),
    "OnlineContrastiveLoss": torch.tensor([0, 1, 1]),
    "CoSENTLoss": torch.tensor([0.2, 0.9, 0.4], dtype=torch.float64),
    "AnglELoss": torch.tensor([0.2, 0.9, 0.4], dtype=torch.float64),
}
_LOSSES: dict[str, tuple[Callable[[Any], torch.nn.Module], int]] = {
    "CosineSimilarityLoss": (losses.CosineSimilarityLoss, 2),
    "ContrastiveLoss": (losses.ContrastiveLoss, 2),
    "OnlineContrastiveLoss": (losses.OnlineContrastiveLoss, 2),
    "CoSENTLoss": (losses.CoSENTLoss, 2),
    "AnglELoss": (losses.AnglELoss, 2),
    "MultipleNegativesRankingLoss": (losses.MultipleNegativesRankingLoss, 2),
    "TripletLoss": (losses.TripletLoss, 3),
    "MatryoshkaLoss": (
        lambda model: losses.MatryoshkaLoss(
            model, losses.MultipleNegativesRankingLoss(model), [16, 8]
        ),
        2,
    ),
}


def _loss(name: str) -> dict[str, Any]:
    model = _model()
    make, count = _LOSSES[name]
    inputs = [_features(model, s) for s in (_SENTENCES, _OTHERS, _SENTENCES[::-1])[:count]]
    labels = _LABELS.get(name, torch.zeros(3))
    return step(make(model), lambda module: module([dict(features) for features in inputs], labels))


def _encoded() -> dict[str, Any]:
    model = _model(modules.Dense(16, 4), modules.Normalize())
    set_values(model)
    model.double().eval()
    first, second = (model.encode(s, convert_to_tensor=True) for s in (_SENTENCES, _OTHERS))
    found = util.semantic_search(first, second, top_k=2)
    return {
        **arrays([first, second, model.similarity(first, second)]),
        "numpy": model.encode(_SENTENCES, batch_size=2),
        "found": array(torch.tensor([[hit["corpus_id"] for hit in row] for row in found])),
    }


def _saved() -> dict[str, Any]:
    model = _model(modules.Dense(16, 4))
    set_values(model)
    model.save_pretrained("saved")
    again = SentenceTransformer("saved", device="cpu").eval()
    return {"again": again.encode(_SENTENCES)}


def _similarities() -> dict[str, Any]:
    x, y = numbers(4, 6), numbers(3, 6, seed=1)
    functions = (util.cos_sim, util.dot_score, util.euclidean_sim, util.manhattan_sim)
    pairs = (util.pairwise_cos_sim(x[:3], y), util.pairwise_angle_sim(x[:3], y))
    return arrays([*(function(x, y) for function in functions), *pairs])


CASES = {
    **{name: partial(_loss, name) for name in _LOSSES},
    "encoded": _encoded,
    "saved": _saved,
    "similarities": _similarities,
}
