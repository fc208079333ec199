"""Operators that are evaluated on the host by ONNX's reference implementation.

They work on text, decode files, or walk trees: nothing that tensors or gradients are about.
"""

from __future__ import annotations

from typing import Any

from oneflow_onnx.x2oneflow.registry import Evaluation, operator

_TEXT = ("RegexFullMatch", "StringConcat", "StringNormalizer", "StringSplit")
_ML_OPERATORS = (
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
# Classes, targets and columns, of which the host makes arrays; and steps of its loops.
_MOST_COLUMNS = 2**24
_MOST_STEPS = 2**10
_MOST_AXES = 64
_COLUMNS = dict.fromkeys(
    ["n_targets", "target_ids", "class_ids", "inputdimensions", "targets", "leaf_targetids"],
    _MOST_COLUMNS,
)
_GRAMS = {
    "ngram_counts": _MOST_COLUMNS,
    "ngram_indexes": _MOST_COLUMNS,
    "max_skip_count": _MOST_STEPS,
}


def _on_host(**attributes: Any) -> None:
    """Stand for an operator that the reference implementation executes."""
    raise NotImplementedError("evaluated by ONNX's reference implementation")


operator(*_TEXT, "ImageDecoder", evaluation=Evaluation.HOST)(_on_host)
operator("TfIdfVectorizer", evaluation=Evaluation.HOST, limits=_GRAMS)(_on_host)
operator("Unique", evaluation=Evaluation.HOST, limits={"axis": _MOST_AXES})(_on_host)
operator(*_ML_OPERATORS, domain="ai.onnx.ml", evaluation=Evaluation.HOST, limits=_COLUMNS)(_on_host)
