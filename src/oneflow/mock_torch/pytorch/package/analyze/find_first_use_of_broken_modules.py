"""The origin of modules that cannot be packaged."""

from __future__ import annotations

from oneflow.mock_torch.pytorch.package.errors import PackagingError


def find_first_use_of_broken_modules(exc: PackagingError) -> dict[str, list[str]]:
    """Return for each module that cannot be packaged the modules by which it came.

    Args:
        exc: what closing the package raised.

    Raises:
        AssertionError: it is no such error.
    """
    if not isinstance(exc, PackagingError):
        raise AssertionError(f"`exc`: a PackagingError has the modules, got {type(exc).__name__}")
    graph = exc.dependency_graph
    return {
        name: graph.first_path(name)
        for name, attributes in graph.nodes.items()
        if attributes.get("error") is not None
    }
