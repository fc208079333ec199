"""Parts of graphs that can be one node: ``torch.fx.passes.utils.fuser_utils``."""

from __future__ import annotations

from collections.abc import Iterable

from oneflow.mock_torch.pytorch.fx.node import Node


def topo_sort(nodes: Iterable[Node]) -> list[Node]:
    """Return nodes so that each stands behind those among them that it reads.

    Raises:
        AssertionError: some read each other.
    """
    members = list(nodes)
    remaining = {node: sum(x in members for x in node.all_input_nodes) for node in members}
    ready = [node for node, count in remaining.items() if count == 0]
    ordered: list[Node] = []
    while ready:
        node = ready.pop(0)
        ordered.append(node)
        for user in node.users:
            if user in remaining:
                remaining[user] -= 1
                if remaining[user] == 0:
                    ready.append(user)
    if len(ordered) != len(members):
        raise AssertionError("topological sorted nodes doesn't have same length as input nodes")
    return ordered


def validate_partition(partition: Iterable[Node]) -> bool:
    """Return whether nodes can be one: no path leaves them and comes back.

    Args:
        partition: the nodes.
    """
    members = set(partition)
    pending = [user for node in members for user in node.users if user not in members]
    seen: set[Node] = set()
    while pending:
        node = pending.pop()
        if node in members:
            return False
        if node not in seen:
            seen.add(node)
            pending += node.users
    return True
