"""The replica of a module in one process of data parallel training."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import numpy as np

from oneflow.base.device import Device
from oneflow.base.dtype import DType
from oneflow.base.placement import Placement
from oneflow.differentiation.backward import call_after_backward
from oneflow.differentiation.grad_mode import MODE, no_grad
from oneflow.distributed.buckets import make_buckets
from oneflow.distributed.collective_functions import average
from oneflow.distributed.collectives import broadcast_tensors
from oneflow.distributed.device_group import run_on_values
from oneflow.distributed.grad_bucket import CommHook, run_comm_hook
from oneflow.distributed.groups import ProcessGroup, group_ranks
from oneflow.distributed.joining import Join, Joinable, JoinHook
from oneflow.module.module import Module
from oneflow.primitives.operators.bucket import pack_bucket, unpack_bucket
from oneflow.primitives.operators.creation import zeros
from oneflow.primitives.operators.elementwise import mul
from oneflow.program.value import Value
from oneflow.tensor.call import wrap
from oneflow.tensor.global_values import all_gather_ints
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.transfer import value_from_numpy
from oneflow.tensor.views import unwrap

# For each parameter of a bucket, True if it has a gradient; then the dtype and device of all.
HasGrads = tuple[tuple[bool, ...], DType, Device]


def buffer_broadcasts(broadcast: bool, forward_sync: bool | None) -> tuple[bool, bool]:
    """Return whether buffers are broadcast when training begins, and before forward passes.

    Args:
        broadcast: the option `broadcast_buffers`.
        forward_sync: the option `forward_sync_buffers`.
    """
    if forward_sync is None:
        return broadcast, broadcast
    return True, forward_sync


class Replica(Joinable):
    """The copy of a module in one process.

    Args:
        module: the module. Its attribute `_ddp_params_and_buffers_to_ignore` may hold names of
            parameters and buffers that processes keep to themselves.
        bucket_size: the number of gradients that are sent as one vector.
        group: the processes that train together, by default all.
        broadcasts_buffers: take the buffers of the first process before forward passes.

    Attributes:
        parameters: the parameters that are trained together.
        ranks: the ranks of the processes.
        is_averaging: whether gradients of the forward passes to come will be averaged.
        joinable: the object that joined processes know this one by.
        comm_hook: the function that exchanges gradients in place of the mean, if there is one.

    Raises:
        ValueError: a parameter is global.
    """

    def __init__(
        self,
        module: Module,
        bucket_size: int,
        group: ProcessGroup | None,
        broadcasts_buffers: bool,
    ) -> None:
        ignored: set[str] = set(getattr(module, "_ddp_params_and_buffers_to_ignore", ()))
        self.parameters: list[Tensor] = []
        for name, parameter in module.named_parameters():
            if name in ignored:
                continue
            if parameter.is_global:
                raise ValueError(
                    f"data parallelism takes modules of local tensors, and `{name}` is global: "
                    "its gradients are summed over its placement already. Train the module as it "
                    "is, on global data, or make it of local tensors"
                )
            self.parameters.append(parameter)
        self.ranks = group_ranks(group)
        self.is_averaging = True
        self.joinable: Joinable = self
        self.comm_hook: CommHook | None = None
        self._buffers = _Buffers(module, ignored)
        self._bucket_size = bucket_size
        self._group = group
        self._broadcasts_buffers = broadcasts_buffers
        self._takes_buffers = True  # in the next forward pass
        self._watches_parameters = False
        self._known_has_grads: dict[HasGrads, Value] = {}
        self._scale = 1.0  # of means: over those that have not joined, if wanted
        self._divides_by_all = True

    def __getstate__(self) -> dict[str, Any]:
        """Copies of the module, such as those that average its weights, have replicas too."""
        return {**vars(self), "_known_has_grads": {}}

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """Accumulate gradients without averaging them; the next backward pass outside averages."""
        before, self.is_averaging = self.is_averaging, False
        try:
            yield
        finally:
            self.is_averaging = before

    def take_state_of(self, rank: int, with_buffers: bool) -> None:
        """Take the parameters of a process, and its buffers if wanted."""
        if self.is_single_process:
            return
        broadcast_tensors(self.parameters, rank, self.ranks)
        if with_buffers:
            self._buffers.broadcast_all(rank, self.ranks)

    @property
    def is_single_process(self) -> bool:
        """True if there is no other process to train with."""
        return len(self.ranks) <= 1

    # --- one step

    def before_forward(self, module: Module, inputs: Any) -> None:
        """Take the buffers of the first process, if the last forward pass was one of training."""
        if self.is_single_process:
            return
        takes_buffers = self._broadcasts_buffers and self._takes_buffers
        if self.joinable._join_config.enable:
            self._begin_shared_step(takes_buffers)
            return
        self._scale = 1.0
        if takes_buffers:
            self._buffers.broadcast(self.ranks[0], self.ranks)

    def _begin_shared_step(self, takes_buffers: bool) -> None:
        """Tell the processes without data in which collectives they will take part."""
        Join.notify_join_context(self.joinable)
        step = _SharedStep.gather_flags(
            self.ranks, takes_buffers, self.is_averaging and MODE.enabled
        )
        self._scale = 1.0 if self._divides_by_all else len(self.ranks) / step.active
        if takes_buffers:
            self._buffers.broadcast_all(step.source, self.ranks)

    def after_forward(self, module: Module, inputs: Any, output: Any) -> None:
        """Watch for the gradients of the results."""
        averages = self.is_averaging and MODE.enabled
        self._takes_buffers = averages
        self._watches_parameters = False
        if not averages or (self.is_single_process and self.comm_hook is None):
            return
        tensors = list(tensors_in(output))
        results = [tensor for tensor in tensors if tensor is not None and tensor.requires_grad]
        for tensor in results:
            tensor.register_hook(self._schedule_average)
        # An object that nobody can look into may hold results, and so may the module itself.
        if not results or any(tensor is None for tensor in tensors):
            self._watch_parameters()

    def _watch_parameters(self) -> None:
        """Average after any backward pass that reaches a parameter."""
        self._watches_parameters = True
        for parameter in self.parameters:
            if parameter.requires_grad:
                hooks = unwrap(parameter).node.post_hooks
                if self._schedule_if_watching not in hooks:
                    hooks.append(self._schedule_if_watching)

    def _schedule_if_watching(self, parameter: Tensor) -> None:
        if self._watches_parameters:
            call_after_backward(self._average)

    def _schedule_average(self, grad: Tensor) -> None:
        call_after_backward(self._average)

    # --- gradients

    def _average(self) -> None:
        """Replace all gradients by their means over the processes.

        A parameter without a gradient on any process keeps none.
        """
        buckets = self._buckets()
        if not buckets:
            return
        with no_grad():
            present = [_has_grads(bucket) for bucket in buckets]
            # A function of the user may fail, and then the gradients stay as they are.
            values_of = _take_gradients if self.comm_hook is None else _gradients
            results = self._exchange(buckets, values_of, map(self._has_grads_value, present))
            for bucket, has_grads, (*means, shares) in zip(buckets, present, results, strict=True):
                self._put_gradients(bucket, has_grads, means, shares)

    def _exchange(
        self,
        buckets: Sequence[Sequence[Tensor]],
        values_of: Callable[[Sequence[Tensor]], list[Value]],
        shares: Iterable[Value],
    ) -> list[list[Value]]:
        """Return the means over the processes.

        Args:
            buckets: the parameters of each vector that is sent.
            values_of: returns the values that this process sends for those of a bucket.
            shares: for each bucket 1 for each gradient that this process has, and 0 for others.

        Returns:
            For each bucket the means, and that of the shares.
        """
        if self.comm_hook is None:
            vectors = [
                pack_bucket(*values_of(bucket), share)
                for bucket, share in zip(buckets, shares, strict=True)
            ]
            shapes = [(*_shapes(bucket), (len(bucket),)) for bucket in buckets]
            return _unpack_all(run_on_values(average, vectors, self.ranks), shapes)
        buffers = [wrap(pack_bucket(*values_of(bucket))) for bucket in buckets]
        vectors = list(map(unwrap, run_comm_hook(self.comm_hook, buffers, buckets)))
        mean_shares = list(shares)
        if not self.is_single_process:
            mean_shares = run_on_values(average, mean_shares, self.ranks)
        results = _unpack_all(vectors, [_shapes(bucket) for bucket in buckets])
        return [[*means, share] for means, share in zip(results, mean_shares, strict=True)]

    def _buckets(self) -> list[list[Tensor]]:
        trained = [parameter for parameter in self.parameters if parameter.requires_grad]
        return make_buckets(trained, self._bucket_size)

    def _has_grads_value(self, has_grads: HasGrads) -> Value:
        """Return 1 for each gradient that is there and 0 for the others; it goes with them."""
        value = self._known_has_grads.get(has_grads)
        if value is None:
            flags, dtype, device = has_grads
            value = value_from_numpy(np.array(flags, dtype.numpy), device)
            self._known_has_grads[has_grads] = value
        return value

    def _put_gradients(
        self, bucket: Sequence[Tensor], has_grads: HasGrads, means: Sequence[Value], shares: Value
    ) -> None:
        """Give parameters the means that some process has had a part in."""
        flags = has_grads[0]
        # Only a process that lacks a gradient must wait to see whether others have one.
        has_mean = flags if all(flags) else np.asarray(shares.read()) != 0
        for parameter, mean, is_known in zip(bucket, means, has_mean, strict=True):
            if is_known:
                parameter.grad = wrap(mean if self._scale == 1.0 else mul(mean, self._scale))

    # --- processes without data

    def join(
        self,
        divide_by_initial_world_size: bool = True,
        enable: bool = True,
        throw_on_early_termination: bool = False,
    ) -> Join:
        """Return the context of training with unequal numbers of batches.

        Args:
            divide_by_initial_world_size: means of gradients are over all processes, those without
                data too; False: over those that still train.
            enable: False does nothing, for data known to be even.
            throw_on_early_termination: raise on all processes when the first has no data left.
        """
        return Join(
            [self.joinable],
            enable,
            throw_on_early_termination,
            divide_by_initial_world_size=divide_by_initial_world_size,
        )

    def join_hook(self, **kwargs: Any) -> JoinHook:
        """Return what this process does when it has no data left."""
        self._divides_by_all = kwargs.get("divide_by_initial_world_size", True)
        return _ReplicaJoinHook(self)

    @property
    def join_device(self) -> Device:
        """The device of the parameters."""
        return self.parameters[0].device

    @property
    def join_process_group(self) -> ProcessGroup | None:
        """The processes that train together."""
        return self._group

    def shadow_step(self) -> None:
        """Take part in a step of the processes that still have data."""
        step = _SharedStep.gather_flags(self.ranks, None, False)
        if step.takes_buffers:
            self._buffers.broadcast_all(step.source, self.ranks)
        self._takes_buffers = step.averages
        buckets = self._buckets() if step.averages else []
        if buckets:
            with no_grad():
                self._exchange(buckets, _no_gradients, map(_no_shares, buckets))

    def finish_joining(self, is_last: bool) -> None:
        """Take the state of a process that has trained until the end."""
        flags = all_gather_ints([is_last], Placement("cpu", self.ranks))
        last = max(rank for rank, (flag,) in zip(self.ranks, flags, strict=True) if flag)
        self.take_state_of(last, self._broadcasts_buffers)


class _ReplicaJoinHook(JoinHook):
    """The actions of a process without data in the place of its replica."""

    def __init__(self, replica: Replica) -> None:
        self._replica = replica

    def main_hook(self) -> None:
        self._replica.shadow_step()

    def post_hook(self, is_last_joiner: bool) -> None:
        self._replica.finish_joining(is_last_joiner)


@dataclass(frozen=True)
class _SharedStep:
    """A training step in which some processes have no data.

    Attributes:
        active: the number of processes that have.
        source: the last of them, whose buffers the others take.
        takes_buffers: whether they do.
        averages: whether gradients will be averaged.
    """

    active: int
    source: int
    takes_buffers: bool
    averages: bool

    @classmethod
    def gather_flags(
        cls, ranks: tuple[int, ...], takes_buffers: bool | None, averages: bool
    ) -> _SharedStep:
        """Return what the processes do in a step; `takes_buffers` is None on those without data."""
        local = [takes_buffers is not None, bool(takes_buffers), averages]
        gathered = all_gather_ints(local, Placement("cpu", ranks)).tolist()
        active = [rank for rank, flags in zip(ranks, gathered, strict=True) if flags[0]]
        return cls(
            len(active),
            max(active),
            any(flags[1] for flags in gathered),
            any(flags[2] for flags in gathered),
        )


class _Buffers:
    """The buffers of a module that all processes have alike."""

    def __init__(self, module: Module, ignored: set[str]) -> None:
        # The dictionaries that hold them, as a forward pass may put another tensor in.
        self._stores: list[tuple[dict[str, Tensor | None], set[str]]] = []
        for prefix, submodule in module.named_modules():
            if submodule._buffers:
                start = f"{prefix}." if prefix else ""
                names = {name for name in submodule._buffers if f"{start}{name}" in ignored}
                self._stores.append((submodule._buffers, names))
        self._last: dict[int, Value] = {}  # values when all processes had the same

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_last": {}}

    def _tensors(self) -> list[Tensor]:
        tensors = {
            id(tensor): tensor
            for store, ignored in self._stores
            for name, tensor in store.items()
            if tensor is not None and name not in ignored
        }
        return list(tensors.values())

    def broadcast(self, source: int, ranks: tuple[int, ...]) -> None:
        """Broadcast the buffers that were written since the last broadcast."""
        tensors, last = self._tensors(), self._last
        written = [i for i, tensor in enumerate(tensors) if unwrap(tensor) is not last.get(i)]
        broadcast_tensors([tensors[i] for i in written], source, ranks)
        last.update({i: unwrap(tensors[i]) for i in written})

    def broadcast_all(self, source: int, ranks: tuple[int, ...]) -> None:
        """Broadcast all of them: a process without data does not know what others have written."""
        self._last.clear()
        self.broadcast(source, ranks)


def _has_grads(parameters: Sequence[Tensor]) -> HasGrads:
    first = parameters[0]
    return (
        tuple([parameter.grad is not None for parameter in parameters]),
        first.dtype,
        first.device,
    )


def _gradients(parameters: Sequence[Tensor]) -> list[Value]:
    """Return the gradients, zeros where there is none."""
    gradients = [parameter.grad for parameter in parameters]
    return [
        _zeros_of(parameter) if gradient is None else unwrap(gradient)
        for parameter, gradient in zip(parameters, gradients, strict=True)
    ]


def _take_gradients(parameters: Sequence[Tensor]) -> list[Value]:
    """Return the gradients, zeros where there is none, and remove them from the parameters."""
    values = _gradients(parameters)
    for parameter in parameters:
        parameter.grad = None
    return values


def _no_gradients(parameters: Sequence[Tensor]) -> list[Value]:
    """Return the gradients that a process without data sends."""
    return [_zeros_of(parameter) for parameter in parameters]


def _no_shares(parameters: Sequence[Tensor]) -> Value:
    """Return the shares in the means of a process without data."""
    first = parameters[0]
    return zeros(shape=(len(parameters),), dtype=first.dtype, device=first.device)


def _shapes(parameters: Sequence[Tensor]) -> tuple[tuple[int, ...], ...]:
    return tuple([tuple(parameter.shape) for parameter in parameters])


def _unpack_all(
    vectors: Sequence[Value], shapes: Sequence[tuple[tuple[int, ...], ...]]
) -> list[list[Value]]:
    """Return the parts of vectors, of these shapes each."""
    return [
        list(unpack_bucket(vector, shapes=bucket_shapes))
        for vector, bucket_shapes in zip(vectors, shapes, strict=True)
    ]


def _zeros_of(tensor: Tensor) -> Value:
    spec = unwrap(tensor).spec
    return zeros(shape=spec.shape, dtype=spec.dtype, device=spec.device)


_PLAIN_TYPES = (int, float, complex, str, bytes, type(None), np.generic, np.ndarray)


def tensors_in(output: Any) -> Iterator[Tensor | None]:
    """Yield the tensors in a module's output, and None for each object that may hide some."""
    if isinstance(output, Tensor):
        yield output
    elif isinstance(output, Mapping):
        for item in output.values():
            yield from tensors_in(item)
    elif isinstance(output, list | tuple | set):
        for item in output:
            yield from tensors_in(item)
    elif is_dataclass(output):
        for field in fields(output):
            yield from tensors_in(getattr(output, field.name))
    elif not isinstance(output, _PLAIN_TYPES):
        yield None
