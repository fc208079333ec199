"""``torch.distributed.optim.zero_redundancy_optimizer``: a state that is split over processes.

Source: Rajbhandari et al., "ZeRO: Memory Optimizations Toward Training Trillion Parameter Models",
2020 (stage 1).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from oneflow import Tensor, distributed, empty
from oneflow.autograd import no_grad
from oneflow.base.device import Device
from oneflow.distributed.groups import ProcessGroup
from oneflow.distributed.joining import Join, Joinable, JoinHook
from oneflow.functional.shape.dense import flatten_dense_tensors
from oneflow.mock_torch.pytorch.distributed.coalesced import put_elements
from oneflow.optim import Optimizer
from oneflow.optim.groups import saved_parameters


class _StepHook(JoinHook):
    """The steps of a process that has no data left."""

    def __init__(self, optimizer: ZeroRedundancyOptimizer) -> None:
        self._optimizer = optimizer

    def main_hook(self) -> None:
        """Do a step as the other processes do."""
        self._optimizer.step()


class ZeroRedundancyOptimizer(Optimizer, Joinable):
    """An optimizer of which each process updates a part of the parameters, and has their state.

    After its step each process sends the parameters that it has updated. Gradients are those of all
    parameters, as `DistributedDataParallel` leaves them. Each parameter belongs to one process: the
    largest ones are given out first, each to the process that has the fewest elements.

    Args:
        params: the parameters, or groups of them, in the same order on all processes.
        optimizer_class: makes the optimizer of this process's part.
        process_group: the processes, by default all.
        parameters_as_bucket_view: accepted: what a process sends is one tensor in any case.
        overlap_with_ddp: must be False.
        defaults: options of `optimizer_class`.

    Attributes:
        optim: the optimizer of this process's part.

    Raises:
        TypeError: `params` is no list of tensors or groups.
        ValueError: it is empty, or its tensors are of several types.
        NotImplementedError: `overlap_with_ddp` is True.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.mock_torch.pytorch.distributed.optim import ZeroRedundancyOptimizer
        >>> layer = flow.nn.Linear(2, 1)
        >>> optimizer = ZeroRedundancyOptimizer(layer.parameters(), flow.optim.Adam, lr=0.1)
        >>> layer(flow.ones(4, 2)).sum().backward()
        >>> optimizer.step()
        >>> optimizer.consolidate_state_dict()
        >>> if flow.env.get_rank() == 0:
        ...     flow.save(optimizer.state_dict(), "optimizer.pt")  # doctest: +SKIP
    """

    def __init__(
        self,
        params: Iterable[Any],
        optimizer_class: Callable[..., Optimizer],
        process_group: ProcessGroup | None = None,
        parameters_as_bucket_view: bool = False,
        overlap_with_ddp: bool = False,
        **defaults: Any,
    ) -> None:
        if overlap_with_ddp:
            raise NotImplementedError(
                "ZeroRedundancyOptimizer: `overlap_with_ddp` must be False; a step sends "
                "parameters while the next forward pass is recorded in any case"
            )
        self.process_group = process_group
        self.world_size = distributed.get_world_size(process_group)
        self.rank = distributed.get_rank(process_group)
        self.parameters_as_bucket_view = parameters_as_bucket_view
        self._sizes = [0] * self.world_size
        # The parameters of each process, group by group.
        self._shards: list[list[list[Tensor]]] = [[] for _ in range(self.world_size)]
        self._states: list[dict[str, Any]] = []
        super().__init__(params, defaults)
        _require_one_type([tensor for group in self.param_groups for tensor in group["params"]])
        own = self._shards[self.rank]
        self.optim = optimizer_class(
            [
                {**_options(group), "params": part}
                for group, part in zip(self.param_groups, own, strict=True)
            ],
            **defaults,
        )
        _copy_options(self.optim.param_groups, self.param_groups)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add parameters, on all processes; each takes its part of them."""
        super().add_param_group(param_group)
        group = self.param_groups[-1]
        parts = self._divide(group["params"])
        for shard, part in zip(self._shards, parts, strict=True):
            shard.append(part)
        if hasattr(self, "optim"):
            self.optim.add_param_group({**_options(group), "params": parts[self.rank]})
            _copy_options(self.optim.param_groups, self.param_groups)

    def _divide(self, parameters: Sequence[Tensor]) -> list[list[Tensor]]:
        """Return the part of each process of the parameters of a group."""
        parts: list[list[Tensor]] = [[] for _ in self._sizes]
        for parameter in sorted(parameters, key=Tensor.numel, reverse=True):
            rank = self._sizes.index(min(self._sizes))
            parts[rank].append(parameter)
            self._sizes[rank] += parameter.numel()
        return parts

    def step(self, closure: Callable[..., Any] | None = None, **kwargs: Any) -> Any:
        """Update this process's part, and exchange the parameters.

        Args:
            closure: computes the loss again, with gradients, and returns it.
            kwargs: for the optimizer of the part.

        Returns:
            What `closure` returned, else None.
        """
        Join.notify_join_context(self)
        _copy_options(self.param_groups, self.optim.param_groups)
        if closure is not None:
            kwargs["closure"] = closure
        loss = self.optim.step(**kwargs)
        _copy_options(self.optim.param_groups, self.param_groups)
        self._exchange()
        return loss

    @no_grad()
    def _exchange(self) -> None:
        """Send the parameters of this process, and take over those of the others.

        Parameters that require no gradient any longer are sent, too: they have been updated if they
            have one.
        """
        for rank, shard in enumerate(self._shards):
            by_dtype: dict[Any, list[Tensor]] = {}
            for parameter in itertools.chain.from_iterable(shard):
                by_dtype.setdefault(parameter.dtype, []).append(parameter)
            for parameters in by_dtype.values():
                self._exchange_from(rank, [parameter.data for parameter in parameters])

    def _exchange_from(self, rank: int, tensors: Sequence[Tensor]) -> None:
        """Send tensors of one dtype, or take over those of the process `rank`."""
        if rank == self.rank:
            flat = flatten_dense_tensors(tensors)
        else:
            count = sum(tensor.numel() for tensor in tensors)
            flat = empty(count, dtype=tensors[0].dtype, device=tensors[0].device)
        source = distributed.get_global_rank(self.process_group, rank)
        distributed.broadcast(flat, source, group=self.process_group)
        if rank != self.rank:
            put_elements(flat, tensors)

    def consolidate_state_dict(self, to: int = 0) -> None:
        """Gather the states of all parts on one process, where `state_dict` then returns them.

        Args:
            to: the rank of that process in the group. All processes call this.
        """
        _copy_options(self.param_groups, self.optim.param_groups)
        states: list[Any] = [None] * self.world_size
        distributed.gather_object(
            _on_cpu(self.optim.state_dict()),
            states if self.rank == to else None,
            distributed.get_global_rank(self.process_group, to),
            self.process_group,
        )
        self._states = states if self.rank == to else []

    def state_dict(self) -> dict[str, Any]:
        """Return the state of all parts, as `consolidate_state_dict` has gathered it last.

        Raises:
            RuntimeError: it has not been gathered on this process.
        """
        if not self._states:
            raise RuntimeError(
                "the optimizer's state has not been gathered on this process: call "
                f"`consolidate_state_dict(to={self.rank})` on all processes first"
            )
        indices, state = self._indices(), {}
        for shard, of_shard in zip(self._shards, self._states, strict=True):
            tensors = [tensor for part in shard for tensor in part]
            for number, values in of_shard["state"].items():
                state[indices[id(tensors[number])]] = values
        return {**super().state_dict(), "state": dict(sorted(state.items()))}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Go on from a `state_dict` of all parts; each process takes its own.

        Raises:
            ValueError: the groups differ in number or size from this optimizer's.
        """
        saved = state_dict["param_groups"]
        saved_parameters(self.param_groups, saved)
        indices, state, groups, count = self._indices(), {}, [], 0
        for group, part in zip(saved, self._shards[self.rank], strict=True):
            groups.append({**_options(group), "params": list(range(count, count + len(part)))})
            for number, parameter in enumerate(part, count):
                values = state_dict["state"].get(indices[id(parameter)])
                if values is not None:
                    state[number] = values
            count += len(part)
        self.optim.load_state_dict({"state": state, "param_groups": groups})
        super().load_state_dict({"state": {}, "param_groups": saved})

    def _indices(self) -> dict[int, int]:
        """Return the indices of the parameters in the state of all parts, by identity."""
        tensors = [tensor for group in self.param_groups for tensor in group["params"]]
        return {id(tensor): number for number, tensor in enumerate(tensors)}

    def join_hook(self, **kwargs: Any) -> JoinHook:
        """Return the steps of this process when it has no data left."""
        return _StepHook(self)

    @property
    def join_device(self) -> Device:
        """The device of the parameters."""
        return self.param_groups[0]["params"][0].device

    @property
    def join_process_group(self) -> ProcessGroup | None:
        """The processes that train together."""
        return self.process_group


def _require_one_type(tensors: Sequence[Tensor]) -> None:
    """Check that tensors have one dtype, on one kind of device.

    Raises:
        ValueError: there are none, or they differ.
    """
    if not tensors:
        raise ValueError("ZeroRedundancyOptimizer got an empty parameter list")
    types = sorted({tensor.type() for tensor in tensors})
    if len(types) > 1:
        raise ValueError(
            "ZeroRedundancyOptimizer takes parameters of one dense type, but got "
            f"{' and '.join(types)}"
        )


def _options(group: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in group.items() if name != "params"}


def _copy_options(sources: Sequence[dict[str, Any]], targets: Sequence[dict[str, Any]]) -> None:
    """Copy the options of groups, such as rates that a schedule has set."""
    for source, target in zip(sources, targets, strict=True):
        for name, value in _options(source).items():
            target[name] = value


def _on_cpu(state: Any) -> Any:
    """Return a state with its tensors on the CPU."""
    if isinstance(state, Tensor):
        return state.cpu()
    if isinstance(state, dict):
        return {name: _on_cpu(value) for name, value in state.items()}
    return [_on_cpu(value) for value in state] if isinstance(state, list) else state


__all__ = ["ZeroRedundancyOptimizer"]
