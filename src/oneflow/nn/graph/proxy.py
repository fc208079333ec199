"""Modules as attributes of a graph, by their names in OneFlow 0.9.

A block behaves as its module, so that one class stands for all of upstream's.
"""

from oneflow.graph.block import (
    Block as Proxy,
    Block as ProxyModule,
    Block as ProxyModuleDict,
    Block as ProxyModuleList,
    Block as ProxyParameterDict,
    Block as ProxyParameterList,
    Block as ProxySequential,
)

__all__ = [
    "Proxy",
    "ProxyModule",
    "ProxyModuleDict",
    "ProxyModuleList",
    "ProxyParameterDict",
    "ProxyParameterList",
    "ProxySequential",
]
