"""Operators that are evaluated on the host by ONNX's reference implementation.

They work on text, decode files, or walk trees: nothing that tensors or gradients are about.
"""

from __future__ import annotations

from typing import Any

from oneflow_onnx.x2oneflow.registry import Evaluation, operator

_TEXT = ("RegexFullMatch", "StringConcat", "StringNormalizer", "StringSplit", "TfIdfVectorizer")
_CLASSICAL = (
    "Binarizer",
    "FeatureVectorizer",
    "Imputer",
    "LabelEncoder",
    "LinearClassifier",
    "LinearRegressor",
    "Normalizer",
    "OneHotEncoder",
    "SVMClassifier",
    "SVMRegressor",
    "Scaler",
    "TreeEnsemble",
    "TreeEnsembleClassifier",
    "TreeEnsembleRegressor",
)


def _on_host(**attributes: Any) -> None:
    """Stand for an operator that the reference implementation executes."""
    raise NotImplementedError("evaluated by ONNX's reference implementation")


operator(*_TEXT, "ImageDecoder", "Unique", evaluation=Evaluation.HOST)(_on_host)
operator(*_CLASSICAL, domain="ai.onnx.ml", evaluation=Evaluation.HOST)(_on_host)
