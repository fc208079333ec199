"""Parameters that are split over ranks, and gathered together while their module runs.

Between steps a parameter is a global tensor, of which each rank holds a part (ZeRO of stage 3,
Rajbhandari et al., "ZeRO: Memory Optimizations Toward Training Trillion Parameter Models", 2020). A
module computes with whole local tensors, on its rank's own data; the gradients of all ranks are
averaged into the parts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from typing import Any, NamedTuple
from weakref import WeakValueDictionary

import oneflow as flow
from oneflow.autograd.function import Function
from oneflow.base.dtype import DType
from oneflow.base.placement import Placement
from oneflow.base.sbp import BROADCAST, PARTIAL_SUM, Sbp, split
from oneflow.differentiation.backward import call_after_backward
from oneflow.differentiation.grad_mode import MODE, no_grad
from oneflow.differentiation.saved import packing
from oneflow.distributed.replica import tensors_in
from oneflow.mock_torch.pytorch.distributed.tensor import DTensor
from oneflow.mock_torch.pytorch.utils._pytree import tree_map
from oneflow.module.module import Module
from oneflow.module.parameter import Parameter
from oneflow.program.value import Value
from oneflow.tensor.tensor import ZERO_GRAD, Tensor
from oneflow.tensor.views import unwrap


class GatherPrecision(NamedTuple):
    """Dtypes in which a module computes; None leaves them as they are.

    Attributes:
        parameters: the dtype of gathered parameters.
        gradients: the dtype of sums of gradients.
        inputs: the dtype of the module's inputs.
        outputs: the dtype of its results.
    """

    parameters: DType | None = None
    gradients: DType | None = None
    inputs: DType | None = None
    outputs: DType | None = None


class MeshLayout(NamedTuple):
    """The split of parameters.

    Attributes:
        ranks: the ranks in one or two dimensions: along the last one parameters are split, along
            the other one they are copied.
        is_split: False copies them along both.
        dimension_of: the dimension that is split of a parameter, 0 if the function returns None.
    """

    ranks: Any
    is_split: bool = True
    dimension_of: Callable[[Parameter], int | None] = lambda parameter: None

    def placement_of(self, tensor: Tensor) -> Placement:
        """The ranks as devices of the tensor's type."""
        return Placement(tensor.device.type, self.ranks)

    def signatures(self, parameter: Parameter, placement: Placement) -> list[Sbp]:
        """The SBP of a parameter."""
        copied = [BROADCAST] * placement.ndim
        if not self.is_split or parameter.ndim == 0:
            return copied
        return [*copied[1:], split(self.dimension_of(parameter) or 0)]


Places = list[tuple[Module, str]]

# The parameters of all groups, by their identity: tensors cannot be compared as keys of sets are.
_gathered: WeakValueDictionary[int, Parameter] = WeakValueDictionary()


def is_gathered(parameter: Parameter) -> bool:
    """Return whether a group gathers this parameter."""
    return _gathered.get(id(parameter)) is parameter


def places_of(modules: Iterable[Module]) -> dict[Parameter, Places]:
    """Return where the parameters of modules are: shared ones are in several places."""
    places: dict[Parameter, Places] = {}
    for module in modules:
        for name, parameter in module._parameters.items():
            if isinstance(parameter, Parameter):
                places.setdefault(parameter, []).append((module, name))
    return places


class GatheredParameters:
    """The parameters that one module gathers when it runs.

    Args:
        places: the parameters, and the modules and names that hold them. They become global.
        layout: how they are split.
        precision: the dtypes of computations.
        reshard_after_forward: gather them again for the backward pass, and keep none in between;
            None: where the module is within another one that gathers parameters.

    Attributes:
        parameters: the global parameters.
        averages: whether backward passes average gradients; else they are kept for one that does.
        divisor: what sums of gradients are divided by; None is the number of ranks.
        family: the groups of a root and of all modules below it.
        is_inner: whether another group is that of the root.

    Raises:
        ValueError: a parameter is global already.
    """

    def __init__(
        self,
        places: dict[Parameter, Places],
        layout: MeshLayout,
        precision: GatherPrecision,
        reshard_after_forward: bool | None,
    ) -> None:
        self.parameters = list(places)
        self.precision = precision
        self.reshard_after_forward = reshard_after_forward
        self.averages = True
        self.divisor: float | None = None
        self.family: list[GatheredParameters] = [self]
        self.is_inner = False
        self._places = list(places.values())
        self._waiting: list[Tensor | None] = [None] * len(places)
        self._again: Sequence[Tensor] | None = None  # gathered for the backward pass
        with no_grad():
            for parameter in self.parameters:
                if isinstance(parameter, DTensor):
                    raise ValueError(
                        "parameters must be local before they are split, got one with "
                        f"sbp={parameter.sbp}"
                    )
                placement = layout.placement_of(parameter)
                unshard = parameter.data.to_global(placement, [BROADCAST] * placement.ndim)
                parameter.data = unshard.to_global(sbp=layout.signatures(parameter, placement))
                _gathered[id(parameter)] = parameter

    def join(self, family: list[GatheredParameters], root: GatheredParameters | None) -> None:
        """Belong to a root and to the modules below it."""
        self.family, self.is_inner = family, self is not root

    # --- forward

    def gathered(self) -> Sequence[Tensor]:
        """Return the whole parameters as local tensors, recorded for the backward pass."""
        if MODE.enabled and any(parameter.requires_grad for parameter in self.parameters):
            return _GatherParameters.apply(self, *self.parameters)
        with no_grad():
            return self.copies(self.parameters)

    def copies(self, parts: Sequence[Tensor]) -> tuple[Tensor, ...]:
        """Return the wholes of parts in the dtype of computations."""
        dtype = self.precision.parameters
        return tuple([unshard(part if dtype is None else _cast(part, dtype)) for part in parts])

    def install(self, tensors: Sequence[Tensor]) -> None:
        """Install these tensors as the modules' parameters."""
        for tensor, places in zip(tensors, self._places, strict=True):
            for module, name in places:
                module._parameters[name] = tensor

    def run(self, forward: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """Run a module's forward pass while it holds whole parameters, and return its results."""
        args, kwargs = cast_all((args, kwargs), self.precision.inputs)
        tensors = self.gathered()
        self.install(tensors)
        try:
            # Hooks of others that are at work, such as those of checkpointing, save nothing either.
            reshard = (
                self.is_inner if self.reshard_after_forward is None else self.reshard_after_forward
            )
            regather = reshard and MODE.enabled and not MODE.saved_hooks
            with packing(_RegatherHooks(self, tensors)) if regather else nullcontext():
                results = forward(*args, **kwargs)
        finally:
            self.install(self.parameters)
        results = cast_all(results, self.precision.outputs)
        for tensor in tensors_in(results):
            # A leaf that passes through outlives the pass, and would keep one more hook of each.
            if tensor is not None and tensor.requires_grad and not tensor.is_leaf:
                tensor.register_hook(partial(self._before_backward, None if regather else tensors))
        return results

    # --- backward

    def regather(self) -> Sequence[Tensor]:
        """Return the whole parameters in the backward pass."""
        if self._again is None:
            with no_grad():
                self._again = self.copies(self.parameters)
            for tensor, parameter in zip(self._again, self.parameters, strict=True):
                tensor.requires_grad_(parameter.requires_grad)
        return self._again

    def _before_backward(self, tensors: Sequence[Tensor] | None, grad: Tensor) -> None:
        """Hold whole parameters, for checkpointed layers that run once more."""
        self.install(self.regather() if tensors is None else tensors)
        call_after_backward(self._after_backward)

    def _after_backward(self) -> None:
        self._again = None
        self.install(self.parameters)

    def reduce(self, grads: Sequence[Tensor | None]) -> list[Tensor | None]:
        """Return the parts of the means of gradients; None where there is none, or not yet."""
        self._after_backward()
        sums = [_sum(*pair) for pair in zip(self._take_waiting(), grads, strict=True)]
        if not self.averages:
            self._keep_waiting(sums)
            return [None] * len(sums)
        call_after_backward(self._flush)
        return self._means(sums)

    def _take_waiting(self) -> list[Tensor | None]:
        """Return the sums of gradients that are not averaged yet, and keep none."""
        waiting = self._waiting
        self._waiting = [None] * len(waiting)
        return waiting

    def _keep_waiting(self, sums: list[Tensor | None]) -> None:
        self._waiting = sums

    def _flush(self) -> None:
        """Average what waits in groups that had no part in the backward pass."""
        for group in self.family:
            if group.averages:
                group._accumulate_waiting()

    def _accumulate_waiting(self) -> None:
        sums = self._take_waiting()
        if all(grad is None for grad in sums):
            return
        with no_grad():
            for parameter, mean in zip(self.parameters, self._means(sums), strict=True):
                parameter.grad = _sum(parameter.grad, mean)

    def _means(self, sums: Sequence[Tensor | None]) -> list[Tensor | None]:
        return [
            None if grad is None else self._mean(parameter, grad)
            for parameter, grad in zip(self.parameters, sums, strict=True)
        ]

    def _mean(self, parameter: Parameter, grad: Tensor) -> Tensor:
        dtype = self.precision.gradients or self.precision.parameters
        if dtype is not None:
            grad = grad.to(dtype)
        placement = parameter.placement
        total = grad.to_global(placement, [PARTIAL_SUM] * placement.ndim).to_global(
            sbp=parameter.sbp
        )
        return total.to(parameter.dtype) / (self.divisor or placement.size)

    # --- whole parameters for users

    @contextmanager
    def full_params(self, writes_back: bool, with_grads: bool) -> Iterator[None]:
        """Hold whole parameters, which users may change, in the block."""
        with no_grad():
            full_parameters = [
                Parameter(unshard(parameter.detach()), parameter.requires_grad)
                for parameter in self.parameters
            ]
            if with_grads:
                for parameter, local in zip(self.parameters, full_parameters, strict=True):
                    local.grad = None if parameter.grad is None else unshard(parameter.grad)
        self.install(full_parameters)
        try:
            yield
        finally:
            self.install(self.parameters)
            if writes_back:
                self._write_back(full_parameters, with_grads)

    @no_grad()
    def _write_back(self, full_parameters: Sequence[Tensor], with_grads: bool) -> None:
        """Take over this rank's part of whole parameters, and of their gradients."""
        for parameter, local in zip(self.parameters, full_parameters, strict=True):
            parameter.data = _part(local.detach(), parameter)
            if with_grads and local.grad is not None:
                parameter.grad = _part(local.grad, parameter)


class WrappedParameters(GatheredParameters):
    """The parameters of a wrapper: each has a gradient after a backward pass, as PyTorch's have.

    Sums of gradients that wait for the mean are the parameters' gradients meanwhile, so that
    whatever clears gradients clears them: global tensors whose parts are summands.
    """

    def _take_waiting(self) -> list[Tensor | None]:
        waiting = super()._take_waiting()
        for i, parameter in enumerate(self.parameters):
            grad = None if parameter._grad is ZERO_GRAD else parameter._grad
            if grad is None:
                waiting[i] = None
            elif PARTIAL_SUM in grad.sbp:
                waiting[i] = grad.to_local()
                parameter.grad = None
        return waiting

    def _keep_waiting(self, sums: list[Tensor | None]) -> None:
        super()._keep_waiting(sums)
        for i, (parameter, grad) in enumerate(zip(self.parameters, sums, strict=True)):
            if grad is not None and (parameter._grad is None or parameter._grad is ZERO_GRAD):
                self._waiting[i] = None
                placement = parameter.placement
                parameter._grad = grad.to(parameter.dtype).to_global(
                    placement, [PARTIAL_SUM] * placement.ndim, check_meta=False
                )

    def _means(self, sums: Sequence[Tensor | None]) -> list[Tensor | None]:
        # Ranks that ran different branches have gradients of different parameters.
        filled = [
            _zeros_like(parameter) if grad is None and parameter.requires_grad else grad
            for parameter, grad in zip(self.parameters, sums, strict=True)
        ]
        return super()._means(filled)


class _GatherParameters(Function):
    """Parts of parameters to wholes; gradients of wholes to parts of their means."""

    @staticmethod
    def forward(ctx: Any, group: GatheredParameters, *parts: Tensor) -> tuple[Tensor, ...]:
        ctx.group = group
        ctx.set_materialize_grads(False)
        full_parameters = group.copies(parts)
        pairs = zip(parts, full_parameters, strict=True)
        ctx.mark_non_differentiable(*[local for part, local in pairs if not part.requires_grad])
        return full_parameters

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> tuple[Tensor | None, ...]:
        return (None, *ctx.group.reduce(grads))


class _RegatherHooks:
    """Hooks that drop whole parameters which operators save, and gather them again."""

    def __init__(self, group: GatheredParameters, tensors: Sequence[Tensor]) -> None:
        self._group = group
        self._positions = {id(unwrap(tensor)): i for i, tensor in enumerate(tensors)}

    def pack(self, value: Value) -> Value | int:
        position = self._positions.get(id(value))
        return value.alias() if position is None else position

    def unpack(self, packed: Value | int, grads: Sequence[Value | None]) -> Value:
        return unwrap(self._group.regather()[packed]) if isinstance(packed, int) else packed


def unshard(part: Tensor) -> Tensor:
    """Return all of a global tensor as a local one."""
    if all(signature is BROADCAST for signature in part.sbp):
        return part.to_local()
    return part.to_global(sbp=[BROADCAST] * part.placement.ndim).to_local()


def _part(local: Tensor, like: Parameter) -> Tensor:
    placement = like.placement
    copies = local.to(like.dtype).to_global(placement, [BROADCAST] * placement.ndim)
    return copies.to_global(sbp=like.sbp)


def _zeros_like(parameter: Parameter) -> Tensor:
    device = parameter.placement.type
    return flow.zeros(parameter.shape, dtype=parameter.dtype, device=device)


def _sum(first: Tensor | None, second: Tensor | None) -> Tensor | None:
    if first is None or second is None:
        return second if first is None else first
    return first + second


def _cast(tensor: Tensor, dtype: DType) -> Tensor:
    return tensor.to(dtype) if tensor.is_floating_point() else tensor


def cast_all(values: Any, dtype: DType | None) -> Any:
    """Return a nesting with its floating tensors in another dtype."""
    if dtype is None:
        return values
    return tree_map(lambda x: _cast(x, dtype) if isinstance(x, Tensor) else x, values)
