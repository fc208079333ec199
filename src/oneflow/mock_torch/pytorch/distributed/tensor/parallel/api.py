"""``parallelize_module``: a plan says by name how the layers of a module are split."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from fnmatch import fnmatch

from oneflow.mock_torch.pytorch.distributed.device_mesh import DeviceMesh, entered_mesh
from oneflow.mock_torch.pytorch.distributed.tensor.parallel.style import ParallelStyle
from oneflow.module.module import Module


def parallelize_module(
    module: Module,
    device_mesh: DeviceMesh | None = None,
    parallelize_plan: ParallelStyle | Mapping[str, ParallelStyle] | None = None,
    *,
    src_data_rank: int | None = 0,
) -> Module:
    """Split the layers of a module over the ranks of a mesh, and return the module.

    Args:
        module: it is changed.
        device_mesh: the ranks in one dimension, by default those of the mesh that is entered.
        parallelize_plan: the style of the module, or of its parts by their names, in which
            patterns (``"layers.*.up"``) are allowed and an empty name is the module itself.
        src_data_rank: the position in the mesh of the rank whose parameters are taken; None takes
            each part from its rank's own parameters.

    Raises:
        RuntimeError: there is no mesh.
        TypeError: the plan is neither a style nor a mapping of names.

    Example:
        >>> from oneflow import mock_torch
        >>> with mock_torch.enable():
        ...     import torch
        ...     from torch.distributed.tensor.parallel import (
        ...         ColwiseParallel, RowwiseParallel, parallelize_module
        ...     )
        >>> mesh = torch.distributed.init_device_mesh("cpu", (1,))
        >>> model = torch.nn.Sequential(torch.nn.Linear(2, 4), torch.nn.Linear(4, 2))
        >>> plan = {"0": ColwiseParallel(), "1": RowwiseParallel()}
        >>> model = parallelize_module(model, mesh, plan)
        >>> model[0].weight.placements, model[1].weight.placements
        ((Shard(dim=0),), (Shard(dim=1),))
    """
    mesh = device_mesh or entered_mesh()
    if mesh is None:
        raise RuntimeError("`device_mesh` is None, and no `with mesh:` block is open")
    if parallelize_plan is None:
        warnings.warn("`parallelize_plan` is None: the module stays as it is", stacklevel=2)
        return module
    if isinstance(parallelize_plan, ParallelStyle):
        parallelize_plan.src_data_rank = src_data_rank
        return parallelize_plan._apply(module, mesh)
    if not isinstance(parallelize_plan, Mapping):
        raise TypeError(
            "`parallelize_plan` must be a `ParallelStyle` or a mapping of names to them, got "
            f"{type(parallelize_plan)}"
        )
    for path, style in parallelize_plan.items():
        pattern, _, rest = path.partition(".")
        named = module.named_children() if path else [("", module)]
        children = [child for name, child in named if fnmatch(name, pattern)]
        if not children:
            warnings.warn(f"no part of {module} is named {pattern!r}: {path!r}", stacklevel=2)
        for child in children:
            plan = {rest: style} if rest else style
            parallelize_module(child, mesh, plan, src_data_rank=src_data_rank)
    return module


__all__ = ["parallelize_module"]
