"""Layers, pooling and data of torch_geometric."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
import torch_geometric.nn as layers
from tools.third_party.measure import array, numbers, step
from torch_geometric import utils
from torch_geometric.data import Batch, Data
from torch_geometric.loader import DataLoader

_EDGES = [[0, 1, 1, 2, 2, 3, 4, 0, 3, 5], [1, 0, 2, 1, 3, 2, 0, 4, 5, 3]]
_LAYERS: dict[str, Any] = {
    "GCNConv": lambda: layers.GCNConv(4, 6),
    "ChebConv": lambda: layers.ChebConv(4, 6, K=2),
    "SAGEConv": lambda: layers.SAGEConv(4, 6),
    "SAGEConv of maxima": lambda: layers.SAGEConv(4, 6, aggr="max"),
    "GraphConv": lambda: layers.GraphConv(4, 6),
    "GatedGraphConv": lambda: layers.GatedGraphConv(6, 2),
    "GATConv": lambda: layers.GATConv(4, 6, heads=2),
    "GATv2Conv": lambda: layers.GATv2Conv(4, 6, heads=2),
    "TransformerConv": lambda: layers.TransformerConv(4, 6, heads=2),
    "GINConv": lambda: layers.GINConv(torch.nn.Linear(4, 6)),
    "TAGConv": lambda: layers.TAGConv(4, 6),
    "ARMAConv": lambda: layers.ARMAConv(4, 6),
    "SGConv": lambda: layers.SGConv(4, 6, K=2),
    "EdgeConv": lambda: layers.EdgeConv(torch.nn.Linear(8, 6)),
    "LEConv": lambda: layers.LEConv(4, 6),
    "ClusterGCNConv": lambda: layers.ClusterGCNConv(4, 6),
    "ResGatedGraphConv": lambda: layers.ResGatedGraphConv(4, 6),
    "GENConv": lambda: layers.GENConv(4, 6),
    "MFConv": lambda: layers.MFConv(4, 6),
    "PNAConv": lambda: layers.PNAConv(
        4, 6, ["mean", "max", "std"], ["identity", "attenuation"], torch.tensor([0, 2, 3, 1])
    ),
}


def _graph() -> tuple[torch.Tensor, torch.Tensor]:
    return numbers(6, 4), torch.tensor(_EDGES)


def _layer(name: str) -> dict[str, Any]:
    features, edges = _graph()
    return step(_LAYERS[name](), lambda layer: layer(features, edges))


class _Network(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.norm = layers.GCNConv(4, 8), layers.BatchNorm(8)
        self.pool = layers.TopKPooling(8, ratio=0.5)
        self.last = torch.nn.Linear(24, 2)

    def forward(self, data: Any) -> torch.Tensor:
        x = self.norm(self.first(data.x, data.edge_index)).relu()
        x, _, _, batch, *_ = self.pool(x, data.edge_index, batch=data.batch)
        pools = (layers.global_mean_pool, layers.global_max_pool, layers.global_add_pool)
        return self.last(torch.cat([pool(x, batch) for pool in pools], 1))


def _graphs() -> list[Any]:
    edges = torch.tensor(_EDGES)
    return [Data(x=numbers(6, 4, seed=seed), edge_index=edges) for seed in range(4)]


def _network(*, loaded: bool) -> dict[str, Any]:
    batch = (
        next(iter(DataLoader(_graphs(), batch_size=4)))
        if loaded
        else Batch.from_data_list(_graphs())
    )
    return step(_Network(), lambda model: model(batch), training=True)


def _utilities() -> dict[str, Any]:
    features, edges = _graph()
    looped, _ = utils.add_self_loops(edges)
    dense = utils.to_dense_adj(edges)
    found, weights = utils.dense_to_sparse(dense[0])
    return {
        "loops": array(looped),
        "degree": array(utils.degree(edges[0], 6)),
        "dense": array(dense),
        "sparse": array(found),
        "weights": array(weights),
        "softmax": array(utils.softmax(features[:, 0], torch.tensor([0, 0, 1, 1, 2, 2]))),
        "scatter": array(utils.scatter(features, torch.tensor([0, 0, 1, 1, 2, 2]), reduce="mean")),
        "laplacian": array(utils.get_laplacian(edges, normalization="sym")[1]),
        "subgraph": array(utils.subgraph([0, 1, 2], edges)[0]),
        "undirected": array(utils.to_undirected(edges[:, :5])),
    }


CASES = {
    **{name: partial(_layer, name) for name in _LAYERS},
    "network": partial(_network, loaded=False),
    "network with loader": partial(_network, loaded=True),
    "utilities": _utilities,
}
