"""`DistributedDataParallel` as PyTorch has it: a module around the one that is trained."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

from oneflow import Tensor, nn
from oneflow.base.device import Device
from oneflow.distributed.future import Future
from oneflow.distributed.grad_bucket import GradBucket
from oneflow.distributed.groups import ProcessGroup
from oneflow.distributed.joining import Join, Joinable, JoinHook
from oneflow.distributed.replica import Replica, buffer_broadcasts

# Gradients that are sent as one vector; sizes in megabytes have no say here.
_BUCKET_SIZE = 10


# The replacements of arguments that are refused.
_ALTERNATIVES = {
    "delay_all_reduce_named_params": "`no_sync()`, and `all_reduce` of these gradients",
    "param_to_hook_all_reduce": "`no_sync()`, and `all_reduce` of this gradient",
    "mixed_precision": "`autocast`, or a module in half precision",
    "device_mesh": "`process_group`",
}


def _raise_unsupported(name: str, value: Any) -> None:
    """Refuse an argument, unless it is None."""
    if value is not None:
        raise NotImplementedError(
            f"`{name}` of `DistributedDataParallel` does not exist here; use {_ALTERNATIVES[name]}"
        )


def _check_annotations(hook: Any) -> None:
    """Reject a function whose annotations are not a bucket and a future; strings pass."""
    if not callable(hook):
        raise TypeError(f"Communication hook must be callable, got {type(hook).__name__}")
    signature = inspect.signature(hook)
    for parameter in signature.parameters.values():
        if parameter.name == "bucket" and not _may_be(parameter.annotation, GradBucket):
            raise ValueError("Communication hook: bucket annotation should be dist.GradBucket.")
    if not _may_be(signature.return_annotation, Future[Tensor]):
        raise ValueError(
            "Communication hook: return annotation should be torch.futures.Future[torch.Tensor]."
        )


def _may_be(annotation: Any, expected: Any) -> bool:
    """Return whether an annotation says what is expected, or nothing that can be compared."""
    return isinstance(annotation, str) or annotation in (inspect.Signature.empty, expected)


class DistributedDataParallel(nn.Module, Joinable):
    """A module whose copies in all processes train as one; see `oneflow.nn.parallel`.

    Args:
        module: the module to train, `module` of this one, whose names in the state dict it begins.
        device_ids: accepted: the module stays on its device.
        output_device: accepted.
        dim: accepted.
        broadcast_buffers: take the buffers of process 0, at the start and before forward passes.
        init_sync: start with the parameters of process 0, and its buffers.
        process_group: the processes that train the module together, by default all.
        bucket_cap_mb: accepted.
        find_unused_parameters: accepted: unused parameters are always found.
        check_reduction: accepted.
        gradient_as_bucket_view: accepted.
        static_graph: accepted.
        delay_all_reduce_named_params: refused, as what follows it.
        param_to_hook_all_reduce: refused.
        mixed_precision: refused.
        device_mesh: refused.
        skip_all_reduce_unused_params: accepted.
        bucket_cap_mb_list: accepted.
        batched_grad_copy: accepted.
        forward_sync_buffers: as `broadcast_buffers`, before forward passes only.

    Raises:
        RuntimeError: no parameter of the module requires a gradient.
        ValueError: more than one device.
        NotImplementedError: an argument that is refused was given.

    Example:
        >>> from oneflow import mock_torch
        >>> with mock_torch.enable():
        ...     import torch
        >>> model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 1))
        >>> list(model.state_dict())
        ['module.weight', 'module.bias']
    """

    def __init__(
        self,
        module: nn.Module,
        device_ids: Sequence[Any] | None = None,
        output_device: Any = None,
        dim: int = 0,
        broadcast_buffers: bool | None = None,
        init_sync: bool = True,
        process_group: ProcessGroup | None = None,
        bucket_cap_mb: float | None = None,
        find_unused_parameters: bool = False,
        check_reduction: bool = False,
        gradient_as_bucket_view: bool = False,
        static_graph: bool = False,
        delay_all_reduce_named_params: Any = None,
        param_to_hook_all_reduce: Any = None,
        mixed_precision: Any = None,
        device_mesh: Any = None,
        skip_all_reduce_unused_params: bool = False,
        bucket_cap_mb_list: Sequence[float] | None = None,
        batched_grad_copy: bool = False,
        forward_sync_buffers: bool | None = None,
    ) -> None:
        super().__init__()
        _raise_unsupported("delay_all_reduce_named_params", delay_all_reduce_named_params)
        _raise_unsupported("param_to_hook_all_reduce", param_to_hook_all_reduce)
        _raise_unsupported("mixed_precision", mixed_precision)
        _raise_unsupported("device_mesh", device_mesh)
        if device_ids is not None and len(device_ids) > 1:
            raise ValueError(
                f"`device_ids` must be None or hold one device, got {list(device_ids)}"
            )
        broadcast = broadcast_buffers is None or broadcast_buffers
        at_first, before_forward = buffer_broadcasts(broadcast, forward_sync_buffers)
        self.module = module
        self.device_ids, self.output_device, self.dim = device_ids, output_device, dim
        self.broadcast_buffers = self.forward_sync_buffers = before_forward
        self.process_group = process_group
        self.find_unused_parameters, self.static_graph = find_unused_parameters, static_graph
        self.gradient_as_bucket_view = gradient_as_bucket_view
        self._replica = Replica(module, _BUCKET_SIZE, process_group, before_forward)
        if not any(parameter.requires_grad for parameter in self._replica.parameters):
            raise RuntimeError(
                "DistributedDataParallel is not needed when a module doesn't have any parameter "
                "that requires a gradient; use the module itself"
            )
        self._replica.joinable = self
        if init_sync:
            self._replica.take_state_of(self._replica.ranks[0], at_first)

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """Run the module; its gradients will be averaged after the backward pass."""
        self._replica.before_forward(self, inputs)
        output = self.module(*inputs, **kwargs)
        self._replica.after_forward(self, inputs, output)
        return output

    def register_comm_hook(
        self, state: object, hook: Callable[[Any, GradBucket], Future[Tensor]]
    ) -> None:
        """Register a function that exchanges the gradients, in place of their mean.

        Args:
            state: its first argument.
            hook: gets a `GradBucket` as its second argument, and returns a future of the vector
                that takes the place of the bucket's. Gradients stay as they are if it fails.

        Raises:
            TypeError: `hook` cannot be called.
            ValueError: its annotations say that it takes or returns something else.
            RuntimeError: there is such a function already.

        Example:
            >>> from oneflow import mock_torch
            >>> with mock_torch.enable():
            ...     import torch
            >>> model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 1))
            >>> def half(state, bucket):
            ...     future = torch.futures.Future()
            ...     future.set_result(bucket.buffer() / 2)
            ...     return future
            >>> model.register_comm_hook(None, half)
            >>> model(torch.ones(1, 2)).sum().backward()
            >>> model.module.weight.grad
            tensor([[0.5000, 0.5000]], dtype=oneflow.float32)
        """
        _check_annotations(hook)
        if self._replica.comm_hook is not None:
            raise RuntimeError(
                "register_comm_hook or register_builtin_comm_hook can only be called once."
            )
        self._replica.comm_hook = functools.partial(hook, state)

    def _register_builtin_comm_hook(self, comm_hook_type: Any) -> None:
        """Register one of `torch.distributed.BuiltinCommHookType`."""
        self.register_comm_hook(self.process_group, comm_hook_type.hook)

    @property
    def device(self) -> Device:
        """The device of the parameters."""
        return self._replica.join_device

    @property
    def require_backward_grad_sync(self) -> bool:
        """True if gradients of the forward passes to come will be averaged."""
        return self._replica.is_averaging

    @require_backward_grad_sync.setter
    def require_backward_grad_sync(self, is_required: bool) -> None:
        self._replica.is_averaging = is_required

    def no_sync(self) -> AbstractContextManager[None]:
        """Accumulate gradients without averaging them; the next backward pass outside averages."""
        return self._replica.no_sync()

    def join(
        self,
        divide_by_initial_world_size: bool = True,
        enable: bool = True,
        throw_on_early_termination: bool = False,
    ) -> Join:
        """Return the context of training with unequal numbers of batches."""
        return self._replica.join(divide_by_initial_world_size, enable, throw_on_early_termination)

    def join_hook(self, **kwargs: Any) -> JoinHook:
        """Return what this process does when it has no data left."""
        return self._replica.join_hook(**kwargs)

    @property
    def join_device(self) -> Device:
        """The device of the parameters."""
        return self._replica.join_device

    @property
    def join_process_group(self) -> ProcessGroup | None:
        """The processes that train together."""
        return self.process_group


__all__ = ["DistributedDataParallel"]
