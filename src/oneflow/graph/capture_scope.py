"""`CaptureScope`: what capture swaps in the user's tensors, modules and thread, and restores."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from oneflow.amp.autocast import autocast
from oneflow.amp.grad_scaler import StaticGradScaler
from oneflow.autograd.gradients import initial_gradient_transform
from oneflow.base.device import Device
from oneflow.base.dtype import DType
from oneflow.base.spec import TensorSpec
from oneflow.differentiation.grad_mode import set_grad_enabled
from oneflow.graph.capturing_recorder import CapturingRecorder, OtherDeviceError, capturing
from oneflow.graph.deferred_value import DeferredValue
from oneflow.graph.external_writes import ExternalWrites
from oneflow.graph.module_tracer import ModuleTracer
from oneflow.graph.optimizer_steps import OptimizerStep
from oneflow.graph.variables import GraphVariables
from oneflow.program.value import Value
from oneflow.random.generator import DrawCapture, capture_draws
from oneflow.runtime.checks import thread_checks
from oneflow.tensor.batch_sharding import BatchSharding
from oneflow.tensor.call import wrap
from oneflow.tensor.host_inputs import HostInputCapture, capture_host_inputs
from oneflow.tensor.tensor import Tensor


class CaptureScope:
    """Everything that one capture swaps, and restores whatever happens.

    Its context managers are nested: `restore_on_error` around `capturing` around `build_context`.

    | swapped                                                          | until the end of    |
    | ---------------------------------------------------------------- | ------------------- |
    | this thread's recorders: operators are recorded, and do not run  | `capturing`         |
    | generators' numbers: draws get numbers that calls fill in         | `capturing`         |
    | what readers and decoders do: calls of the step read              | `capturing`         |
    | values, views, gradients of variables, and names assigned anew   | `capturing`         |
    | values of other tensors that `build` writes to                   | `capturing`         |
    | `forward` of modules, and this thread's operand casts            | `build_context`          |
    | this thread's grad mode, autocast, and the start of `backward`   | `build_context`          |
    | states of optimizers and of the grad scaler, on an error alone   | `restore_on_error`   |

    Attributes:
        recorder: records the step.
        variables: the tensors that stand for inputs during capture.
        optimizer_steps: the steps of optimizers that were captured.
        draws: the draws of the step.
        host_inputs: what the step reads before it runs.
        outside: tensors that become variables though no module or attribute has them.

    Args:
        graph_name: name of the graph, for errors.
        body: what is recorded, for errors.
        device: device or placement on which the step will run.
        scaler: the graph's gradient scaler.
        outside: see the attribute.
    """

    def __init__(
        self,
        graph_name: str,
        body: str,
        device: Any,
        scaler: StaticGradScaler | None,
        outside: Sequence[Tensor] = (),
    ) -> None:
        self.recorder = CapturingRecorder(device, graph_name, body)
        self.recorder.guarded = thread_checks().guards(device)
        self.variables = GraphVariables(self.recorder)
        self.optimizer_steps: list[OptimizerStep] = []
        self.draws = DrawCapture()
        self.host_inputs = HostInputCapture(
            partial(_new_host_input, self.recorder),
            deferred=partial(DeferredValue, self.recorder, self.variables),
        )
        if isinstance(device, Device):
            self.host_inputs.sharding = BatchSharding(device)
        self.outside = outside
        self._scaler = scaler

    @contextlib.contextmanager
    def restore_on_error(self) -> Iterator[None]:
        """Context manager: on an error optimizers and the scaler are as before the capture."""
        try:
            yield
        except BaseException:
            for step in self.optimizer_steps:
                step.undo()
            if self._scaler is not None:
                self._scaler.reset()
            raise

    @contextlib.contextmanager
    def capturing(self) -> Iterator[None]:
        """Context manager: record this thread's operators, with variables as inputs.

        Raises:
            ExternalWriteError: `build` wrote to a tensor that is no part of the graph.
        """
        writes = ExternalWrites(self.recorder)
        error = None
        try:
            with (
                capturing(self.recorder),
                capture_draws() as self.draws,
                capture_host_inputs(self.host_inputs),
                writes,
            ):
                yield
        finally:
            self.variables.restore()
            error = writes.undo()
        if error is not None:
            raise error

    @contextlib.contextmanager
    def build_context(
        self,
        tracer: ModuleTracer,
        grad_enabled: bool,
        half_precision: DType | None,
        change_start: Callable[[Value], Value],
    ) -> Iterator[None]:
        """Context manager: the modes in which `build` runs.

        Args:
            tracer: wraps the modules' `forward`.
            grad_enabled: record for the backward pass.
            half_precision: the dtype of autocast; None without it.
            change_start: changes the gradient with which `backward` starts.
        """
        device_type = self.recorder.device.type
        casts = contextlib.nullcontext()
        if half_precision is not None:
            casts = autocast(device_type, half_precision)
        with (
            set_grad_enabled(grad_enabled),
            tracer,
            casts,
            initial_gradient_transform(change_start),
        ):
            yield


def _new_host_input(recorder: CapturingRecorder, spec: TensorSpec) -> Tensor:
    """Return the placeholder of a tensor that a reader reads.

    Raises:
        OtherDeviceError: the reader has a placement, and the graph runs on a device.
    """
    if not recorder.takes(spec.device):
        raise OtherDeviceError(recorder, spec.device)
    return wrap(recorder.new_input(spec))
