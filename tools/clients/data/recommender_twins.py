"""Recommenders beside their twins on PyTorch, whose tables of embeddings are plain matrices.

PyTorch has neither `one_embedding` nor the fused functions that the models call; here is what they
compute. All rows of the tables are in each batch, so that optimizers of rows and of whole matrices
do the same.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

import oneflow as flow

# Rows of each field's table; keys of different fields differ.
ROWS_OF_FIELD = 3
SIZE = 8
random = np.random.default_rng(1)


class Table(torch.nn.Module):
    """A table of embeddings in place of `OneEmbedding` of the models."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__()
        size = options.get("embedding_vec_size", arguments[0] if arguments else 0)
        width = sum(size) if isinstance(size, list) else size
        fields = len(options.get("table_size_array", arguments[2] if arguments[2:] else ()))
        self.weight = torch.nn.Parameter(torch.zeros(fields * ROWS_OF_FIELD, width))

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        """The rows with these keys."""
        return self.weight[ids]


def interact(
    features: list[torch.Tensor],
    output_concat: torch.Tensor | None = None,
    self_interaction: bool = False,
    output_padding: int = 0,
    pooling: str = "none",
) -> torch.Tensor:
    """Products of all pairs of rows, as `fused_dot_feature_interaction` computes them."""
    rows = torch.cat(features, dim=1)
    if pooling == "sum":
        return 0.5 * (rows.sum(1) ** 2 - (rows**2).sum(1)).sum(1, keepdim=True)
    products = rows @ rows.transpose(1, 2)
    first, second = np.tril_indices(rows.shape[1], 0 if self_interaction else -1)
    parts = [products[:, first, second]]
    if output_concat is not None:
        parts.insert(0, output_concat)
    return torch.nn.functional.pad(torch.cat(parts, dim=1), [0, output_padding])


def cross(
    x: torch.Tensor, weight: torch.Tensor, first: torch.Tensor, bias: torch.Tensor, mode: str
) -> torch.Tensor:
    """A layer of a cross network, as `fused_cross_feature_interaction` computes it."""
    assert mode == "vector"
    return first * (x @ weight.T) + bias + x


def keys(fields: int) -> np.ndarray:
    """A batch of keys in which each row of each table is."""
    columns = [random.permutation(np.arange(6) % ROWS_OF_FIELD) for _ in range(fields)]
    return np.stack(columns, 1) + ROWS_OF_FIELD * np.arange(fields)


def clicks(fields: int = 39, dense: int = 0, labels: int = 1) -> Callable[[], tuple]:
    """Keys, dense features and labels of a batch."""

    def make() -> tuple[np.ndarray, ...]:
        arrays = [keys(fields), random.integers(0, 2, (6, labels)).astype(np.float32)]
        if dense:
            arrays.insert(0, random.random((6, dense)).astype(np.float32))
        return tuple(arrays)

    return make


def wide_clicks() -> tuple[np.ndarray, ...]:
    """Dense features, keys of both parts, and labels of a batch."""
    dense, labels = random.random((6, 13)), random.integers(0, 2, (6, 1))
    wide, deep = random.integers(0, 50, (6, 2)), random.integers(0, 50, (6, 26))
    return dense.astype(np.float32), wide, deep, labels.astype(np.float32)


def choose(library: Any, model: Any, *arrays: Any) -> Any:
    """The loss of a score, or of several."""
    *inputs, labels = arrays
    scores = model(*inputs)
    scores = library.cat(scores, dim=1) if isinstance(scores, list) else scores
    return library.nn.BCEWithLogitsLoss()(scores, labels)


def choose_by_shares(library: Any, model: Any, *arrays: Any) -> Any:
    """The loss of a probability."""
    *inputs, labels = arrays
    return library.nn.BCELoss()(model(*inputs), labels)


def make_of(fields: int, **options: Any) -> Callable[[Any, Any], Any]:
    """A function that makes a model with a table for each field."""

    def make(build: Any, library: Any) -> Any:
        named = dict(options)
        if library is torch:
            vars(sys.modules[build.__module__])["OneEmbedding"] = Table
            torch._C.__dict__.update(
                fused_dot_feature_interaction=interact, fused_cross_feature_interaction=cross
            )
            if "use_fusedmlp" in named:
                named["use_fusedmlp"] = False
        return build(
            persistent_path=tempfile.mkdtemp(),
            table_size_array=[ROWS_OF_FIELD] * fields,
            one_embedding_store_type="cached_host_mem",
            cache_memory_budget_mb=16,
            embedding_vec_size=SIZE,
            **named,
        )

    return make


def make_wide_and_deep(build: Any, library: Any) -> Any:
    """A small model with two layers of tables."""
    return build(50, 50, SIZE, hidden_size=16, hidden_units_num=2, deep_dropout_rate=0.0)


@dataclass(frozen=True)
class Row:
    """A recommender: see `models_twins.Twin`."""

    folder: str
    reference: str
    make: Callable[[Any, Any], Any]
    data: Callable[[], tuple[np.ndarray, ...]]
    loss: Callable[..., Any] = choose
    optimizer: tuple[str, dict[str, Any]] = ("Adam", {"lr": 1e-3})


DCN = make_of(39, size_factor=3, dnn_hidden_units=[16, 16], net_dropout=0.0)
DEEPFM = make_of(39, dnn=[16, 16], use_fusedmlp=True, dropout=0.0)
ROWS = {
    "wide and deep": Row(
        "wide_and_deep", "models.wide_and_deep:LocalWideAndDeep", make_wide_and_deep, wide_clicks,
        choose_by_shares,
    ),
    "DCN, eager": Row("dcn", "dcn_eager_train_eval:DCNModule", DCN, clicks(), choose_by_shares),
    "DCN": Row("dcn", "dcn_train_eval:DCNModule", DCN, clicks(), choose_by_shares),
    "DeepFM, eager": Row("deepfm", "deepfm_eager_train_eval:DeepFMModule", DEEPFM, clicks()),
    "DeepFM": Row("deepfm", "deepfm_train_eval:DeepFMModule", DEEPFM, clicks()),
    "xDeepFM": Row(
        "xdeepfm", "xdeepfm_train_eval:xDeepFMModule",
        make_of(39, dnn_hidden_units=[16, 16], cin_layer_units=[4, 4], dropout=0.0), clicks(),
    ),
    "PNN": Row("pnn", "pnn_train_eval:PNNModule", make_of(39, dnn=[16, 16], dropout=0.0), clicks()),
    "DLRM": Row(
        "dlrm", "dlrm_train_eval:DLRMModule",
        make_of(26, bottom_mlp=[16, SIZE], top_mlp=[16, 8], use_fusedmlp=True), clicks(26, 13),
        optimizer=("SGD", {"lr": 0.1}),
    ),
    "MMoE": Row(
        "mmoe", "mmoe_train_eval:MmoeModule",
        make_of(29, expert_dnn=[16, 8], gate_dnn=[16], tower_dnn=[8]), clicks(29, 11, 2),
    ),
}  # fmt: skip


def tables_of(model: Any) -> list[Any]:
    """The tables of a model of OneFlow."""
    kinds = (
        flow.one_embedding.MultiTableEmbedding,
        flow.one_embedding.MultiTableMultiColumnEmbedding,
    )
    return [layer for layer in model.modules() if isinstance(layer, kinds)]


def with_tables(optimizer: Any, model: Any) -> Any:
    """An optimizer that updates the tables of a model, too."""
    tables = tables_of(model)
    return flow.one_embedding.Optimizer(optimizer, embeddings=tables) if tables else optimizer


def copy_tables(ours: Any, theirs: Any) -> bool:
    """Give a twin the tables and the other parameters of a recommender; False without tables.

    Fused layers have other names than theirs, in the same order.
    """
    tables = [layer for layer in theirs.modules() if isinstance(layer, Table)]
    if not tables:
        return False
    (table,), (own,) = tables, tables_of(ours)
    ids = np.arange(len(table.weight)).reshape(-1, ROWS_OF_FIELD).T.copy()
    with torch.no_grad():
        table.weight[ids] = torch.from_numpy(own(flow.tensor(ids)).numpy().copy())
    others = [parameter for parameter in theirs.parameters() if parameter is not table.weight]
    of_tables = {id(parameter) for parameter in own.parameters()}
    values = [parameter for parameter in ours.parameters() if id(parameter) not in of_tables]
    with torch.no_grad():
        for parameter, value in zip(others, values, strict=True):
            assert tuple(parameter.shape) == tuple(value.shape)
            parameter.copy_(torch.from_numpy(value.numpy().copy()))
    return True
