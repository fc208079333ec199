"""The graph of a job: its body, run once per replica, and its optimizers."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import numpy as np

from oneflow.amp.autocast import autocast
from oneflow.base.placement import Placement, Sharding
from oneflow.base.sbp import BROADCAST, Sbp, split
from oneflow.base.spec import TensorSpec
from oneflow.differentiation.grad_mode import no_grad
from oneflow.functional.creation import factory_functions
from oneflow.graph.capturing_recorder import NO_VALUES
from oneflow.graph.graph import Graph
from oneflow.legacy.annotations import Leaf, map_leaves
from oneflow.legacy.context import BodyRun, running
from oneflow.legacy.optimizers import JobOptimizer
from oneflow.legacy.session import default_session
from oneflow.module.module import Module
from oneflow.module.parameter import Parameter
from oneflow.runtime.meta_array import NoValuesError
from oneflow.runtime.planning_mode import planning
from oneflow.tensor.batch_sharding import BatchSharding
from oneflow.tensor.host_inputs import HostInputCapture, capture_host_inputs, current_host_inputs
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.transfer import import_array
from oneflow.tensor.views import unwrap


class JobGraph(Graph):
    """A graph whose `build` is the body of a job.

    Args:
        name: the name of the job.
        body: the function that was decorated.
        is_training: True for a training job.
        placement: the devices of the job; None stands for one that is not named.
        replicas: how often the body runs, with another part of the data each time: once per device
            in mirrored view, and on that device. In consistent view they share each blob.
        half_precision_device: the kind of device on which matrix products and convolutions compute
            in half precision; None for full precision.
        loss_optimizer: what `oneflow.losses.add_loss` lets minimise losses, if anything.
    """

    def __init__(
        self,
        name: str,
        body: Callable[..., Any],
        is_training: bool,
        placement: Placement | None,
        replicas: int,
        half_precision_device: str | None,
        loss_optimizer: JobOptimizer | None = None,
    ) -> None:
        super().__init__()
        self.job_name, self.body, self.is_training = name, body, is_training
        self.placement, self.replicas = placement, replicas
        self._half_precision_device, self._loss_optimizer = half_precision_device, loss_optimizer
        self._specs: dict[str, Any] = {}
        self.result_names: list[str | None] = []
        self._structure: Any = None
        self._readers: dict[Any, Any] = {}
        self._handlers: list[Callable] = []
        self._optimizers_of_job: list[tuple[Any, Any]] = []

    @property
    def variable_names(self) -> list[str]:
        """The names of the job's variables."""
        return list(self._specs)

    # --- definition

    def define(self, placeholders: Sequence[np.ndarray]) -> None:
        """Run the body without data; create its variables and optimizers.

        Raises:
            RuntimeError: a job that does not train minimises a loss, or the body reads a value.
        """
        try:
            with planning():
                run = self._run_without_data(placeholders)
        except NoValuesError as error:
            raise RuntimeError(
                f"job `{self.job_name}`: a blob's value was read in its body. {NO_VALUES}"
            ) from error
        if self.placement is not None:
            self.default_device = self.placement
        session = default_session()
        for spec in run.variables.values():
            session.add_variable(spec)
        self._specs = run.variables
        self.variables = _JobVariables({name: session.variables[name] for name in run.variables})
        trainable = {
            name: session.variables[name] for name, spec in run.variables.items() if spec.trainable
        }
        for optimizer in dict.fromkeys(optimizer for optimizer, _ in run.minimize_calls):
            if optimizer.changes_gradients and self.config.gradient_accumulation_steps > 1:
                raise NotImplementedError(
                    f"job `{self.job_name}` accumulates gradients; {type(optimizer).__name__} "
                    "would clip or scale those of each part instead of their sum"
                )
            created, schedule = optimizer.create(trainable)
            self.add_optimizer(created, lr_sch=schedule)
            self._optimizers_of_job.append((optimizer, created))

    def _run_without_data(self, placeholders: Sequence[np.ndarray]) -> BodyRun:
        """Run the body without data; placeholders are on the devices of its scopes, if any."""
        placements: list[Placement] = []
        try:
            run, _ = self._run_body(
                list(map(self._blob, placeholders)), False, placements=placements
            )
        except Exception:
            # The body mixed placeholders on the session's device with tensors of a scope's devices.
            if not placements or self.placement is not None:
                raise
        else:
            if not placements or self.placement is not None:
                return run
        self.placement = _union(placements)
        return self._run_body(list(map(self._blob, placeholders)), False)[0]

    def _run_body(
        self,
        blobs: Sequence[Tensor],
        records: bool,
        replica: int = 0,
        placements: list[Placement] | None = None,
    ) -> tuple[BodyRun, Any]:
        shared = self.placement if self.replicas > 1 else None
        run = BodyRun(self.job_name, self.is_training, records, self._loss_optimizer, shared=shared)
        run.placements = [] if placements is None else placements
        run.names.update((f"Input_{number}", blob) for number, blob in enumerate(blobs))
        with (
            running(run, self._devices_of(replica)),
            capture_host_inputs(self._host_inputs(replica)),
        ):
            return run, self.body(*blobs)

    def _devices_of(self, replica: int) -> Placement | None:
        """Return the devices of a run of the body."""
        if self.placement is None or self.replicas == 1:
            return self.placement
        return Placement(self.placement.type, [self.placement.flat[replica]])

    def _host_inputs(self, replica: int) -> HostInputCapture:
        """Return what collects a run's host inputs; without a graph they are blank."""
        sharding = BatchSharding(replica=(replica, self.replicas))
        placement = self._devices_of(replica)
        if placement is not None:
            sbp = (split(0), *[BROADCAST] * (placement.ndim - 1))
            sharding = replace(sharding, placement=placement, sbp=sbp)
        graph = current_host_inputs()
        if graph is None:
            return HostInputCapture(_blank_tensor, sharding, self._readers)
        return HostInputCapture(graph.new_tensor, sharding, self._readers, graph.inputs)

    # --- recording

    def build(self, *blobs: Tensor) -> list[Tensor]:
        """Run the body on the blobs of each replica, and the backward pass of its losses.

        Returns:
            The results of all replicas, and the values to watch.
        """
        # Here, where a step is recorded, and not around each call.
        with ExitStack() as modes:
            if self._half_precision_device is not None:
                modes.enter_context(autocast(self._half_precision_device))
            if not self.is_training:
                modes.enter_context(no_grad())
            return self._results(blobs)

    def _results(self, blobs: Sequence[Tensor]) -> list[Tensor]:
        """See `build`."""
        count = len(blobs) // self.replicas
        runs, results = [], []
        for replica in range(self.replicas):
            part = blobs[replica * count : (replica + 1) * count]
            run, tree = self._run_body(part, records=True, replica=replica)
            runs.append(run)
            results.append(self._flattened(tree))
        self._write_back(runs)
        watched = [blob for run in runs for blob, _ in run.watched]
        gradients = [blob for run in runs for blob, _ in run.tracked_gradients]
        for blob in gradients:
            blob.retain_grad()
        losses = {id(loss): loss for run in runs for _, loss in run.minimize_calls}
        if losses:
            self._total(list(losses.values())).backward()
            for optimizer, created in self._optimizers_of_job:
                optimizer.change_gradients(created)
        names = {id(blob): name for name, blob in runs[0].names.items()}
        self.result_names = [names.get(id(blob)) for blob in results[0]]
        self._handlers = [
            *(handler for run in runs for _, handler in run.watched),
            *(handler for run in runs for _, handler in run.tracked_gradients),
        ]
        return [*itertools.chain(*results), *watched, *(blob.grad for blob in gradients)]

    def _flattened(self, tree: Any) -> list[Tensor]:
        """Return the leaves of what the body returns; the structure holds their numbers.

        Raises:
            TypeError: the body returned another structure before.
        """
        leaves: list[Tensor] = []

        def number(leaf: Tensor) -> int:
            leaves.append(leaf)
            return len(leaves) - 1

        structure = map_leaves(number, tree)
        if self._structure is not None and self._structure != structure:
            raise TypeError(
                f"job `{self.job_name}` returns results in another structure than before; it must "
                "be the same for all shapes and replicas"
            )
        self._structure = structure
        return leaves

    def _total(self, losses: Sequence[Tensor]) -> Tensor:
        """Return the mean loss, plus what variables add to it.

        A loss of several elements counts as their mean, as in OneFlow 0.x.
        """
        means = [self._on_first_device(loss.mean()) for loss in losses]
        total = sum(means[1:], means[0]) / self.replicas
        session = default_session()
        for name, spec in self._specs.items():
            if spec.regularizer is not None and spec.trainable:
                penalty = spec.regularizer.penalty(session.variables[name])
                total = total + self._on_first_device(penalty)
        return total

    def _on_first_device(self, blob: Tensor) -> Tensor:
        """Return a blob of any replica on the device of the first one."""
        if self.replicas == 1:
            return blob
        return blob.to_global(placement=self._devices_of(0), sbp=BROADCAST)

    def _write_back(self, runs: Sequence[BodyRun]) -> None:
        """Give variables that replicas have written to, such as moving averages, the mean of it."""
        for name in self._specs if self.replicas > 1 else ():
            copies = [run.copies[name] for run in runs if name in run.copies]
            if all(unwrap(copy) is value for copy, value in copies):
                continue
            with no_grad():
                written = [
                    copy.to_global(placement=self.placement, sbp=BROADCAST) for copy, _ in copies
                ]
                variable = default_session().variables[name]
                mean = sum(written[1:], written[0]) / len(written)
                variable.copy_(mean.to(variable.dtype))

    # --- running

    def run(self, arguments: Sequence[Sequence[np.ndarray]]) -> Sequence[Tensor]:
        """Run the job on the arrays given for each argument, one for each replica.

        Returns:
            The results of all replicas; see `read`.
        """
        if self.placement is None:
            blobs = [import_array(array) for (array,) in arguments]
        else:
            blobs = [self._blob(arrays[r], r) for r in range(self.replicas) for arrays in arguments]
        results = self(*blobs)
        if self._handlers:
            watched = results[-len(self._handlers) :]
            for handler, blob in zip(self._handlers, watched, strict=True):
                handler(blob.numpy())
        return results

    def read(self, results: Sequence[Tensor]) -> Any:
        """Wait for the results of `run`.

        Returns:
            The structure that the body returns, with the arrays of all replicas at each leaf.
        """
        count = len(self.result_names)
        if self.replicas == 1:
            leaves = [Leaf((blob.numpy(),)) for blob in results[:count]]
        else:
            stop = count * self.replicas
            leaves = [Leaf([b.numpy() for b in results[i:stop:count]]) for i in range(count)]
        return map_leaves(leaves.__getitem__, self._structure)

    def _blob(self, array: np.ndarray, replica: int = 0) -> Tensor:
        """Return an argument as a blob; its first dimension is split over several devices."""
        placement = self._devices_of(replica)
        if placement is None:
            return import_array(array)
        divisible = array.ndim and array.shape[0] % placement.size == 0
        sbp: Sbp = split(0) if divisible else BROADCAST
        # Every process has the whole, so that nothing is sent.
        return import_array(array, device=Sharding(placement, (sbp,) * placement.ndim))


def _blank_tensor(spec: TensorSpec) -> Tensor:
    place = {"device": spec.device}
    if spec.sbp is not None:
        place = {"placement": spec.device, "sbp": spec.sbp}
    return factory_functions.zeros(*spec.shape, dtype=spec.dtype, **place)


def _union(placements: Sequence[Placement]) -> Placement:
    """Return the placement with the ranks of all `placements`."""
    ranks = sorted({rank for placement in placements for rank in placement.flat})
    return Placement(placements[0].type, ranks)


class _JobVariables(Module):
    """The variables of a job as the parameters and buffers of a module."""

    def __init__(self, variables: dict[str, Tensor]) -> None:
        super().__init__()
        for name, variable in variables.items():
            key = name.replace(".", "-")
            if isinstance(variable, Parameter):
                self.register_parameter(key, variable)
            else:
                self.register_buffer(key, variable)
