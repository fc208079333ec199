"""Metrics of torchmetrics."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
import torchmetrics
from tools.third_party.measure import array, arrays, integers, numbers

_CLASSES = {"task": "multiclass", "num_classes": 4}


def _classes() -> list[tuple[torch.Tensor, torch.Tensor]]:
    return [(numbers(6, 4, seed=s).softmax(1), integers(6, below=4, seed=s)) for s in (0, 1)]


def _binary() -> list[tuple[torch.Tensor, torch.Tensor]]:
    return [(numbers(6, seed=s).sigmoid(), integers(6, below=2, seed=s)) for s in (0, 1)]


def _values() -> list[tuple[torch.Tensor, torch.Tensor]]:
    return [(numbers(6, seed=s), numbers(6, seed=s + 5)) for s in (0, 1)]


def _images() -> list[tuple[torch.Tensor, torch.Tensor]]:
    return [
        (numbers(2, 3, 24, 24, seed=s).sigmoid(), numbers(2, 3, 24, 24, seed=s + 5).sigmoid())
        for s in (0, 1)
    ]


_METRICS: dict[str, tuple[dict[str, Any], Callable[[], Any]]] = {
    "Accuracy": (_CLASSES, _classes),
    "F1Score": ({**_CLASSES, "average": "macro"}, _classes),
    "Precision": ({**_CLASSES, "average": None}, _classes),
    "Recall": ({**_CLASSES, "average": "weighted"}, _classes),
    "ConfusionMatrix": (_CLASSES, _classes),
    "AUROC": (_CLASSES, _classes),
    "AveragePrecision": (_CLASSES, _classes),
    "CohenKappa": (_CLASSES, _classes),
    "MatthewsCorrCoef": (_CLASSES, _classes),
    "CalibrationError": (_CLASSES, _classes),
    "JaccardIndex": (_CLASSES, _classes),
    "HammingDistance": (_CLASSES, _classes),
    "ROC": ({"task": "binary"}, _binary),
    "PrecisionRecallCurve": ({"task": "binary", "thresholds": 5}, _binary),
    "MeanSquaredError": ({}, _values),
    "MeanAbsoluteError": ({}, _values),
    "R2Score": ({}, _values),
    "PearsonCorrCoef": ({}, _values),
    "SpearmanCorrCoef": ({}, _values),
    "KendallRankCorrCoef": ({}, _values),
    "ExplainedVariance": ({}, _values),
    "CosineSimilarity": ({}, lambda: [(numbers(4, 3), numbers(4, 3, seed=1))]),
    "KLDivergence": ({}, lambda: [(numbers(4, 3).softmax(1), numbers(4, 3, seed=1).softmax(1))]),
    "image.PeakSignalNoiseRatio": ({"data_range": 1.0}, _images),
    "image.StructuralSimilarityIndexMeasure": ({"data_range": 1.0}, _images),
    "image.TotalVariation": ({}, lambda: [(numbers(2, 3, 8, 8),)]),
    "audio.ScaleInvariantSignalDistortionRatio": (
        {},
        lambda: [(numbers(2, 64), numbers(2, 64, seed=1))],
    ),
    "text.Perplexity": ({}, lambda: [(numbers(2, 5, 6), integers(2, 5, below=6))]),
    "text.WordErrorRate": ({}, lambda: [(["a b c", "d e"], ["a c c", "d e f"])]),
    "retrieval.RetrievalMAP": (
        {},
        lambda: [(numbers(8).sigmoid(), integers(8, below=2), torch.tensor([0, 1] * 4))],
    ),
}


def _metric(name: str) -> dict[str, Any]:
    module, _, kind = name.rpartition(".")
    home = getattr(torchmetrics, module) if module else torchmetrics
    settings, batches = _METRICS[name]
    metric = getattr(home, kind)(**settings)
    steps = {}
    for number, batch in enumerate(batches()):
        steps |= arrays(metric(*batch), f"step {number}")
    whole = metric.compute()
    metric.reset()
    return {**steps, **arrays(whole if isinstance(whole, tuple) else [whole], "whole")}


def _collection() -> dict[str, Any]:
    metrics = torchmetrics.MetricCollection(
        {
            name: getattr(torchmetrics, name)(**_CLASSES)
            for name in ("Accuracy", "F1Score", "Recall")
        }
    )
    for batch in _classes():
        metrics.update(*batch)
    state = metrics.clone(prefix="again/").compute()
    return {name: array(value) for name, value in {**metrics.compute(), **state}.items()}


def _mean() -> dict[str, Any]:
    metric = torchmetrics.MeanMetric()
    tracker = torchmetrics.MetricTracker(torchmetrics.MeanMetric(), maximize=True)
    for number in range(3):
        metric.update(numbers(3, seed=number), weight=2.0)
        tracker.increment()
        tracker.update(numbers(3, seed=number))
    return {"mean": array(metric.compute()), "all": array(tracker.compute_all())}


CASES = {
    **{name: partial(_metric, name) for name in _METRICS},
    "collection": _collection,
    "mean": _mean,
}
