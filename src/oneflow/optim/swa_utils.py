"""Averages of a model's weights over its training, and the learning rate that goes with them."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Iterable
from typing import Any

from oneflow.base.device import Device
from oneflow.base.dtype import int64
from oneflow.base.sbp import BROADCAST
from oneflow.differentiation.grad_mode import no_grad
from oneflow.functional.creation.factory_functions import zeros
from oneflow.module.module import Module
from oneflow.optim.gradient_clipping import by_place
from oneflow.optim.lr_scheduler.swa import SWALR as SWALR
from oneflow.tensor.call import wrap
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.transfer import to_place
from oneflow.tensor.views import unwrap

# From the average, the new weights and the number of models averaged so far to the new average.
AverageFunction = Callable[[Tensor, Tensor, Tensor], Tensor]
# The same of all tensors at once, in place.
InplaceAverageFunction = Callable[[list[Tensor], list[Tensor], Tensor], None]


def get_swa_avg_fn() -> AverageFunction:
    """Return the plain average of all models (Izmailov et al., 2018).

    Example:
        >>> import oneflow as flow
        >>> average = flow.optim.swa_utils.get_swa_avg_fn()
        >>> average(flow.tensor(1.0), flow.tensor(4.0), flow.tensor(2))
        tensor(2., dtype=oneflow.float32)
    """
    return _plain_average


def get_ema_avg_fn(decay: float = 0.999) -> AverageFunction:
    """Return the exponential moving average.

    Raises:
        ValueError: `decay` is outside [0, 1].

    Example:
        >>> import oneflow as flow
        >>> average = flow.optim.swa_utils.get_ema_avg_fn(0.75)
        >>> average(flow.tensor(1.0), flow.tensor(5.0), flow.tensor(1))
        tensor(2., dtype=oneflow.float32)
    """
    if not 0 <= decay <= 1:
        raise ValueError(f"Invalid decay value {decay} provided. Please provide a value in [0,1].")
    return functools.partial(_moving_average, decay)


def get_swa_multi_avg_fn() -> InplaceAverageFunction:
    """Return `get_swa_avg_fn` of lists of tensors, in place.

    Example:
        >>> import oneflow as flow
        >>> average = flow.optim.swa_utils.get_swa_multi_avg_fn()
        >>> weights = [flow.tensor(1.0)]
        >>> average(weights, [flow.tensor(4.0)], flow.tensor(2))
        >>> weights
        [tensor(2., dtype=oneflow.float32)]
    """
    return functools.partial(_average_all, get_swa_avg_fn())


def get_ema_multi_avg_fn(decay: float = 0.999) -> InplaceAverageFunction:
    """Return `get_ema_avg_fn` of lists of tensors, in place.

    Raises:
        ValueError: `decay` is outside [0, 1].

    Example:
        >>> import oneflow as flow
        >>> average = flow.optim.swa_utils.get_ema_multi_avg_fn(0.75)
        >>> weights = [flow.tensor(1.0)]
        >>> average(weights, [flow.tensor(5.0)], flow.tensor(1))
        >>> weights
        [tensor(2., dtype=oneflow.float32)]
    """
    return functools.partial(_average_all, get_ema_avg_fn(decay))


# Functions of the module, which can be pickled with the model that averages by them.


def _plain_average(average: Tensor, new: Tensor, count: Tensor) -> Tensor:
    return average + (new - average) / (count + 1)


def _moving_average(decay: float, average: Tensor, new: Tensor, count: Tensor) -> Tensor:
    return average * decay + new * (1 - decay)


def _average_all(
    function: AverageFunction, averages: list[Tensor], new: list[Tensor], count: Tensor
) -> None:
    with no_grad():
        for average, tensor in zip(averages, new, strict=True):
            average.copy_(function(average, tensor, count))


def _zero_on(model: Module, device: Device | str | None) -> Tensor:
    """The count of an average before the first model: on a placement if the weights are."""
    first = next(model.parameters(), None)
    if device is None and first is not None and first.is_global:
        return zeros((), dtype=int64, placement=first.placement, sbp=BROADCAST)
    return zeros((), dtype=int64, device=device)


def _on_placement_of(tensor: Tensor, number: Tensor) -> Tensor:
    """A number where `tensor` is; itself if it is there. Stages of a model may lie apart."""
    value = unwrap(number)
    moved = to_place(value, unwrap(tensor).spec.device)
    return number if moved is value else wrap(moved)


class AveragedModel(Module):
    """A copy of a model whose weights are averages.

    Args:
        model: the model; it is copied.
        device: where the copy lives, by default where the model does.
        avg_fn: how to average, by default plainly.
        multi_avg_fn: how to average all tensors at once, in place of `avg_fn`.
        use_buffers: average buffers too; otherwise they are copied.

    Attributes:
        module: the copy.
        n_averaged: the number of models averaged, int64.

    Raises:
        AssertionError: `avg_fn` and `multi_avg_fn` are both given.

    Example:
        >>> import oneflow as flow
        >>> model = flow.nn.Linear(1, 1, bias=False)
        >>> averaged = flow.optim.swa_utils.AveragedModel(model)
        >>> for value in (1.0, 3.0):
        ...     _ = flow.nn.init.constant_(model.weight, value)
        ...     averaged.update_parameters(model)
        >>> averaged.module.weight.item()
        2.0
    """

    n_averaged: Tensor

    def __init__(
        self,
        model: Module,
        device: Device | str | None = None,
        avg_fn: AverageFunction | None = None,
        multi_avg_fn: InplaceAverageFunction | None = None,
        use_buffers: bool = False,
    ) -> None:
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = copy.deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", _zero_on(self.module, device))
        self.avg_fn = get_swa_avg_fn() if avg_fn is None else avg_fn
        self.multi_avg_fn = multi_avg_fn
        self.use_buffers = use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.module(*args, **kwargs)

    def _mixed(self, averages: list[Tensor], new: list[Tensor]) -> list[Tensor]:
        """The averages after one more model."""
        if self.multi_avg_fn is None:
            return [
                self.avg_fn(average, tensor, _on_placement_of(average, self.n_averaged))
                for average, tensor in zip(averages, new, strict=True)
            ]
        mixed = [average.clone() for average in averages]
        new_of = dict(zip(map(id, mixed), new, strict=True))
        for group in by_place(mixed):
            sources = [new_of[id(average)] for average in group]
            self.multi_avg_fn(group, sources, _on_placement_of(group[0], self.n_averaged))
        return mixed

    def update_parameters(self, model: Module) -> None:
        """Take the weights of `model` into the averages.

        Raises:
            ValueError: it has other parameters or buffers than the copy.
        """
        averages, new = list(self.module.parameters()), list(model.parameters())
        copied, buffers = list(self.module.buffers()), list(model.buffers())
        if self.use_buffers:
            averages, new, copied, buffers = averages + copied, new + buffers, [], []
        new = [
            tensor.detach().to(average.device)
            for average, tensor in zip(averages, new, strict=True)
        ]
        with no_grad():
            is_first = self.n_averaged == 0
            mixed = self._mixed([average.detach() for average in averages], new)
            for average, tensor, result in zip(averages, new, mixed, strict=True):
                starts = _on_placement_of(average, is_first)
                average.copy_(tensor.where(starts, result.to(average.dtype)))
            for buffer, source in zip(copied, buffers, strict=True):
                buffer.copy_(source.detach().to(buffer.device))
            self.n_averaged.add_(1)


def update_bn(loader: Iterable[Any], model: Module, device: Device | str | None = None) -> None:
    """Compute the running statistics of a model's normalisation layers anew, from all batches.

    Args:
        loader: batches: tensors, or tuples and lists with the input first.
        model: called with each input, in training mode; its mode is as before afterwards.
        device: where inputs are moved to.

    Example:
        >>> import oneflow as flow
        >>> model = flow.nn.BatchNorm1d(1)
        >>> flow.optim.swa_utils.update_bn([flow.tensor([[1.0], [3.0]])], model)
        >>> model.running_mean
        tensor([2.], dtype=oneflow.float32)
    """
    layers: list[Any] = [layer for layer in model.modules() if "running_mean" in layer._buffers]
    layers = [layer for layer in layers if layer.running_mean is not None]
    if not layers:
        return
    saved = [layer.momentum for layer in layers]
    was_training = model.training
    model.train()
    try:
        for layer in layers:
            layer.reset_running_stats()
            # The average of all batches.
            layer.momentum = None
        with no_grad():
            for batch in loader:
                images = batch[0] if isinstance(batch, list | tuple) else batch
                model(images if device is None else images.to(device))
    finally:
        for layer, momentum in zip(layers, saved, strict=True):
            layer.momentum = momentum
        model.train(was_training)
