"""Data parallelism: every process has a replica of the module and its own part of the data."""

from __future__ import annotations

from typing import Any

from oneflow.distributed.groups import ProcessGroup
from oneflow.distributed.replica import Replica, buffer_broadcasts
from oneflow.module.module import Module


def DistributedDataParallel(
    module: Module,
    device_ids: Any = None,
    output_device: Any = None,
    dim: int = 0,
    *,
    broadcast_buffers: bool = True,
    broadcast_parameters: bool = True,
    bucket_size: int = 10,
    use_bucket: bool = True,
    process_group: ProcessGroup | None = None,
    init_sync: bool | None = None,
    bucket_cap_mb: float | None = None,
    find_unused_parameters: bool = False,
    check_reduction: bool = False,
    gradient_as_bucket_view: bool = False,
    static_graph: bool = False,
    forward_sync_buffers: bool | None = None,
) -> Module:
    """Let each process train `module` on its own data as if all data were one batch.

    After each backward pass through the module the gradients of its parameters are the means over
    all processes; a parameter that a process did not use counts as zeros there, and one that no
    process used keeps no gradient. Inside ``with module.no_sync():`` gradients stay what they are,
    to be averaged with later ones. Processes with unequal numbers of batches train inside
    ``with module.join():``.

    Args:
        module: the module to train, the same on every process.
        device_ids: accepted for PyTorch's sake: the module stays on its device.
        output_device: accepted for PyTorch's sake.
        dim: accepted for PyTorch's sake.
        broadcast_buffers: all processes begin with the buffers (such as running means) of process
            0, and take them again before each forward pass that follows one of training: those that
            were written since they last did; all processes must have written the same ones.
        broadcast_parameters: all processes begin with the parameters of process 0.
        bucket_size: the number of gradients that are sent as one vector.
        use_bucket: False sends each gradient on its own.
        process_group: the processes that train the module together, by default all; process 0 is
            then the first of them.
        init_sync: PyTorch's name of `broadcast_parameters`.
        bucket_cap_mb: accepted for PyTorch's sake.
        find_unused_parameters: accepted for PyTorch's sake: unused parameters are always found.
        check_reduction: accepted for PyTorch's sake.
        gradient_as_bucket_view: accepted for PyTorch's sake.
        static_graph: accepted for PyTorch's sake.
        forward_sync_buffers: as `broadcast_buffers`, but even with False all processes begin with
            the buffers of process 0.

    Returns:
        The same module, changed. Its attribute `module` is the module itself, where it has no other
        one of that name.

    Raises:
        ValueError: `bucket_size` is below 1, or a parameter is global.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.nn.parallel import DistributedDataParallel as ddp
        >>> model = ddp(flow.nn.Linear(2, 1))
        >>> model(flow.ones(3, 2)).sum().backward()
        >>> model.weight.grad.tolist()
        [[3.0, 3.0]]
    """
    if bucket_size < 1:
        raise ValueError(f"`bucket_size` must be at least 1, got {bucket_size}")
    at_first, before_forward = buffer_broadcasts(broadcast_buffers, forward_sync_buffers)
    replica = Replica(module, bucket_size if use_bucket else 1, process_group, before_forward)
    module.no_sync = replica.no_sync
    if not hasattr(module, "join"):
        module.join = replica.join
    if not hasattr(module, "module"):
        vars(module)["module"] = module  # not as a part of itself
    if replica.is_single_process:
        return module
    if broadcast_parameters if init_sync is None else init_sync:
        replica.take_state_of(replica.ranks[0], at_first)
    module.register_forward_pre_hook(replica.before_forward)
    module.register_forward_hook(replica.after_forward)
    return module
