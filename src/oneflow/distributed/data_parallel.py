"""Data parallelism: every process has a replica of the module and its own part of the data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from typing import Any

from oneflow.differentiation.backward import call_after_backward
from oneflow.differentiation.grad_mode import MODE
from oneflow.distributed.buckets import make_buckets, run_on_buckets
from oneflow.distributed.collectives import broadcast_tensors
from oneflow.distributed.groups import ProcessGroup, group_ranks
from oneflow.distributed.spmd_collectives import average
from oneflow.module.module import Module
from oneflow.primitives.operators.creation import zeros
from oneflow.program.value import Value
from oneflow.tensor.call import wrap
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.views import unwrap


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
) -> Module:
    """Let each process train `module` on its own data as if all data were one batch.

    After each backward pass through the module the gradients of its parameters are the means over
    all processes; a parameter that a process did not use counts as zeros there. Inside
    ``with module.no_sync():`` they stay what they are, to be averaged with later ones.

    Args:
        module: the module to train, the same on every process.
        device_ids: accepted for PyTorch's sake: the module stays on its device.
        output_device: accepted for PyTorch's sake.
        dim: accepted for PyTorch's sake.
        broadcast_buffers: before each training forward pass all processes take those buffers
            (such as running means) of process 0 that were written since they last did; all
            processes must have written the same ones.
        broadcast_parameters: all processes begin with the parameters and buffers of process 0.
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

    Returns:
        The same module, changed. Its attribute `module` is the module itself, where it has no other
        one of that name.

    Raises:
        ValueError: `bucket_size` is below 1.

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
    ranks = group_ranks(process_group)
    replica = _Replica(module, bucket_size if use_bucket else 1, ranks)
    module.no_sync = replica.no_sync
    if not hasattr(module, "module"):
        vars(module)["module"] = module  # not as a part of itself
    if len(ranks) <= 1:
        return module
    if broadcast_parameters if init_sync is None else init_sync:
        broadcast_tensors(replica.parameters, ranks[0], ranks)
        replica.broadcast_buffers()
    if broadcast_buffers and replica.buffers:
        module.register_forward_pre_hook(replica.before_forward)
    module.register_forward_hook(replica.after_forward)
    return module


class _Replica:
    """The copy of a module in one process."""

    def __init__(self, module: Module, bucket_size: int, ranks: tuple[int, ...]) -> None:
        self.parameters = list(module.parameters())
        self.buffers = list(module.buffers())
        self._broadcast: dict[int, Value] = {}  # values of buffers when all processes had the same
        self._bucket_size = bucket_size
        self._ranks = ranks
        self._is_averaging = True

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """Accumulate gradients without averaging them; the next backward pass outside averages."""
        before, self._is_averaging = self._is_averaging, False
        try:
            yield
        finally:
            self._is_averaging = before

    def before_forward(self, module: Module, inputs: Any) -> None:
        """Broadcast the buffers of process 0 before a training step."""
        if module.training and self._is_averaging and MODE.enabled:
            self.broadcast_buffers()

    def broadcast_buffers(self) -> None:
        """Broadcast the buffers of process 0 that were written since; often there are none."""
        last = self._broadcast
        written = [i for i, each in enumerate(self.buffers) if unwrap(each) is not last.get(i)]
        broadcast_tensors([self.buffers[i] for i in written], self._ranks[0], self._ranks)
        last.update({i: unwrap(self.buffers[i]) for i in written})

    def after_forward(self, module: Module, inputs: Any, output: Any) -> None:
        """Register a hook for the gradients of the results."""
        if self._is_averaging and MODE.enabled:
            for tensor in tensors_in(output):
                if tensor.requires_grad:
                    tensor.register_hook(self._schedule_average)

    def _schedule_average(self, grad: Tensor) -> None:
        call_after_backward(self._average)

    def _average(self) -> None:
        """Replace all gradients by their means over the processes."""
        parameters = [each for each in self.parameters if each.requires_grad]
        buckets = make_buckets(parameters, self._bucket_size)
        for parameter, mean in run_on_buckets(average, buckets, _take_gradients, self._ranks):
            parameter.grad = wrap(mean)


def _take_gradients(parameters: Sequence[Tensor]) -> list[Value]:
    """Return the gradients, zeros where there is none, and remove them from the parameters."""
    values = []
    for parameter in parameters:
        spec, grad = unwrap(parameter).spec, parameter.grad
        values.append(
            zeros(shape=spec.shape, dtype=spec.dtype, device=spec.device)
            if grad is None
            else unwrap(grad)
        )
        parameter.grad = None
    return values


def tensors_in(output: Any) -> Iterator[Tensor]:
    """Yield the tensors in a module's output: in sequences, mappings and data classes."""
    if isinstance(output, Tensor):
        yield output
    elif isinstance(output, Mapping):
        for each in output.values():
            yield from tensors_in(each)
    elif isinstance(output, list | tuple | set):
        for each in output:
            yield from tensors_in(each)
    elif is_dataclass(output):
        for field in fields(output):
            yield from tensors_in(getattr(output, field.name))
