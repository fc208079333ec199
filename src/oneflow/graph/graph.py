"""`Graph`: the base class of static graphs."""

from __future__ import annotations

import inspect
import itertools
import os
import warnings
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from oneflow.amp.grad_scaler import StaticGradScaler
from oneflow.base.change_count import CHANGES
from oneflow.base.device import CPU
from oneflow.base.hook import Hook
from oneflow.checkpoint.serialization import PROGRAM_STORE, ProgramStore
from oneflow.graph.block import Block, Blocks
from oneflow.graph.capture import CaptureSettings
from oneflow.graph.capture_modes import attributes_of, capture_modes
from oneflow.graph.compilation import compile_graph
from oneflow.graph.compiled_graph import CompiledGraph
from oneflow.graph.graph_config import GraphConfig
from oneflow.graph.graph_repr import graph_text
from oneflow.graph.guards import Guards
from oneflow.graph.optimizer_steps import GraphOptimizer
from oneflow.graph.pipeline_parallel import PipelineExecutable
from oneflow.graph.pytree import flatten_call, plain_key
from oneflow.graph.render_graph import draw_step, step_html
from oneflow.graph.render_schedule import draw_schedule
from oneflow.graph.save_graph import save_steps
from oneflow.graph.saved_graph import SavedGraph
from oneflow.graph.state import graph_state, load_graph_state
from oneflow.graph.step import Step
from oneflow.module.module import Module
from oneflow.module.state import IncompatibleKeys
from oneflow.optim.lbfgs import LBFGS
from oneflow.optim.lr_scheduler.plateau import ReduceLROnPlateau
from oneflow.optim.lr_scheduler.scheduler import LRScheduler
from oneflow.optim.optimizer import Optimizer
from oneflow.optim.utils import SparseOptimizer
from oneflow.runtime.eager import is_capturing
from oneflow.tensor.tensor import Tensor

_counts: defaultdict[str, Iterator[int]] = defaultdict(itertools.count)
# `Graph.plan` calls it.
PLAN_GRAPH: Hook[Callable[..., Any]] = Hook("PLAN_GRAPH", "oneflow.plan.plan")


class Graph(CompiledGraph):
    """Base class of static graphs: a whole step, recorded once and run as one program.

    Assign modules to attributes, define `build`, and call the graph. The first call runs `build`
    once to record it, together with the backward pass and the optimizers' steps; this and later
    calls run the compiled program. It is recorded once more where it is called in another mode: its
    modules' `train` or `eval`, grad mode, `autocast`, the default dtype.

    Args:
        enable_get_runtime_state_dict: accepted; what `runtime_state_dict` needs is there anyway.
        debug_v_level: as `debug` takes it; -1 prints nothing.
        debug_ranks: as `debug` takes it.
        debug_max_py_stack_depth: as `debug` takes it.
        debug_only_user_py_stack: accepted; only the user's lines are printed.
        debug_op_repr_with_py_stack: accepted; level 3 prints the lines.

    Example:
        >>> import oneflow as flow
        >>> class LinearGraph(flow.nn.Graph):
        ...     def __init__(self):
        ...         super().__init__()
        ...         self.linear = flow.nn.Linear(3, 8, False)
        ...     def build(self, x):
        ...         return self.linear(x)
        >>> graph = LinearGraph()
        >>> graph(flow.randn(4, 3)).shape
        oneflow.Size([4, 8])
    """

    config: GraphConfig
    settings: CaptureSettings
    default_device: Any = CPU  # of a step without parameters and arguments
    # Advice about a tensor that requires grad and is none of the graph's.
    _body = "`build`"
    _constant_hint = "Assign its module, or the tensor, to an attribute of the graph"
    _steps: OrderedDict[tuple, Step]

    def __init__(
        self,
        *,
        enable_get_runtime_state_dict: bool = False,
        debug_v_level: int = -1,
        debug_ranks: int | list[int] | None = None,
        debug_max_py_stack_depth: int = 2,
        debug_only_user_py_stack: bool = True,
        debug_op_repr_with_py_stack: bool = False,
    ) -> None:
        members = self.__dict__
        kind = type(self).__name__
        members["_name"] = f"{kind}_{next(_counts[kind])}"
        members["_modules"] = {}
        members["_steps"] = steps = OrderedDict()
        members["config"] = GraphConfig(steps.clear, lambda: self.training)
        members["settings"] = CaptureSettings(self.config, Blocks(steps.clear, self.named_modules))
        members["_optimizers"] = []
        members["_attributes"] = []
        if debug_v_level >= 0:
            depth = debug_max_py_stack_depth
            self.debug(debug_v_level, ranks=debug_ranks, max_py_stack_depth=depth)

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "__call__" in cls.__dict__:
            raise TypeError(
                f"{cls.__name__} defines `__call__`, which runs the compiled graph; "
                "define `build` instead"
            )

    # --- attributes

    def __setattr__(self, name: str, value: Any) -> None:
        members = self.__dict__
        if "_modules" not in members:
            raise RuntimeError(
                f"call super().__init__() in {type(self).__name__}.__init__ before anything else"
            )
        if isinstance(value, Graph):
            raise TypeError(
                f"cannot make graph {value.name} an attribute of {self.name}: graphs cannot be "
                "nested; share the modules instead"
            )
        if isinstance(value, Block):
            value = value.origin
        if isinstance(value, list | tuple | dict) and _contains_modules(value):
            warnings.warn(
                f"{self.name}.{name} is a {type(value).__name__} with modules, which the graph "
                "does not see: their parameters and buffers become constants. Use nn.ModuleList or "
                "nn.ModuleDict",
                stacklevel=2,
            )
        if isinstance(value, Module):
            members.pop(name, None)
            self._modules[name] = value
        else:
            self._modules.pop(name, None)
            object.__setattr__(self, name, value)
            CHANGES.value += 1

    def __getattr__(self, name: str) -> Any:
        modules = self.__dict__.get("_modules")
        if modules is None:
            raise AttributeError(
                f"'{type(self).__name__}' has no attribute '{name}'; did its __init__ call "
                "super().__init__()?"
            )
        if name in modules:
            return self.settings.blocks.of(modules[name])
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __delattr__(self, name: str) -> None:
        if name in self._modules:
            del self._modules[name]
        else:
            object.__delattr__(self, name)
            CHANGES.value += 1

    @property
    def training(self) -> bool:
        """True if the graph has optimizers."""
        return bool(self._optimizers)

    @property
    def is_compiled(self) -> bool:
        """True if it has been called."""
        return bool(self._steps)

    @property
    def last_step(self) -> Step | None:
        """The compiled step that was used last; None before the first call."""
        return next(reversed(self._steps.values()), None)

    # --- building

    def build(self, *args: Any, **kwargs: Any) -> Any:
        """Compute the results of the graph; every subclass defines it.

        Arguments and results are tensors and None, nested in lists, tuples, dicts and
        dataclasses. In training call ``backward`` on a scalar loss.
        """
        raise NotImplementedError(f"{type(self).__name__} must define `build`")

    def add_optimizer(
        self,
        optim: Optimizer | SparseOptimizer,
        *,
        lr_sch: LRScheduler | None = None,
        is_sparse: bool = False,
    ) -> None:
        """Let each call clip gradients, step the optimizer, and step its schedule.

        Args:
            optim: an optimizer of parameters of the graph's modules.
            lr_sch: schedule of its learning rate. It counts the calls of the graph: after each
                ``lr_sch.step()`` goes on once, or else the next call does. So until then
                ``lr_sch.get_last_lr()`` is the rate that the call used, as in eager mode.
            is_sparse: update only those rows of embeddings that were looked up.

        Raises:
            TypeError: `optim` is not an optimizer or is `LBFGS`, or `lr_sch` is not a schedule that
                steps by itself.
            ValueError: `optim` was added before, or `lr_sch` is the schedule of another one.
        """
        if isinstance(optim, SparseOptimizer):
            optim, is_sparse = optim.optimizer, True
        if not isinstance(optim, Optimizer):
            raise TypeError(f"`optim` must be an Optimizer, got {type(optim).__name__}")
        if isinstance(optim, LBFGS):
            raise TypeError(
                "LBFGS computes the loss several times per step, and the number depends on values; "
                "a graph computes it once. Use it in eager mode"
            )
        if isinstance(lr_sch, ReduceLROnPlateau) or not isinstance(lr_sch, LRScheduler | None):
            raise TypeError(
                f"`lr_sch` must be a learning rate schedule that steps without arguments, "
                f"got {type(lr_sch).__name__}"
            )
        if lr_sch is not None and lr_sch.optimizer is not optim:
            raise ValueError("`lr_sch` is a schedule of another optimizer than `optim`")
        if any(added.optimizer is optim for added in self._optimizers):
            raise ValueError(f"this {type(optim).__name__} was added to {self.name} before")
        self._optimizers.append(GraphOptimizer(optim, lr_sch, is_sparse))
        self._steps.clear()

    def set_grad_scaler(self, grad_scaler: StaticGradScaler | None = None) -> None:
        """Scale the loss by this scaler, and the gradients back; None takes it away.

        Args:
            grad_scaler: a `GradScaler` or `StaticGradScaler` of `oneflow.amp`.
        """
        if not isinstance(grad_scaler, StaticGradScaler | None):
            raise TypeError(
                f"`grad_scaler` must be a GradScaler or None, got {type(grad_scaler).__name__}"
            )
        self.settings.scaler = grad_scaler
        self._steps.clear()

    # --- calling

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the compiled step on arguments as `build` takes them.

        Raises:
            TypeError: the arguments are not those of `build`.
            RuntimeError: called inside another graph, or `build` read a value.
        """
        if "_steps" not in self.__dict__:
            raise RuntimeError(f"{type(self).__name__}.__init__ must call super().__init__()")
        if is_capturing():
            raise RuntimeError(
                f"{self.name} is called inside `build` of another graph; graphs cannot be nested. "
                "Call its modules instead"
            )
        if self._loaded is not None:
            return self._loaded(*args, **kwargs)
        for added in self._optimizers:
            added.optimizer.step_due_schedule()
        called = None if kwargs else plain_key(args)
        tensors: Sequence[Any] = args
        if called is None:
            tensors = []
            called = self._key(args, kwargs, tensors)
        key = called, capture_modes(bool(self._optimizers), self._attributes)
        step = self._steps.get(key)
        if step is None or not step.check_guards():
            step = self._new_step(called, args, kwargs)
            result = step(tensors, first=True)
        else:
            self._steps.move_to_end(key)
            result = step(tensors)
        step.finish(self._optimizers)
        return result

    def _compile(self, *args: Any, **kwargs: Any) -> None:
        called = None if kwargs else plain_key(args)
        self._new_step(called or self._key(args, kwargs, []), args, kwargs)

    def _key(self, args: tuple, kwargs: dict[str, Any], tensors: list[Tensor]) -> tuple:
        """The key of a call, which must be equal to use a step again; collects the tensors."""
        structure = flatten_call(args, kwargs, tensors, self.name)
        return structure, tuple([(t._value.spec, t.requires_grad, t.is_leaf) for t in tensors])

    def _new_step(self, called: tuple, args: tuple, kwargs: dict[str, Any]) -> Step:
        """Capture and compile the step for arguments like these."""
        self._check_call(args, kwargs)
        engine = self.config.select_engine(self.training)
        tensors: list[Tensor] = []
        structure = flatten_call(args, kwargs, tensors, self.name)
        self.__dict__["_attributes"] = attributes_of(self.named_modules())
        key = called, capture_modes(self.training, self._attributes)
        self._warn_of_recompile(key)
        step = self._steps[key] = compile_graph(self, self.build, structure, tensors, engine)
        while len(self._steps) > self.max_steps:
            self._steps.popitem(last=False)
        return step

    def _check_call(self, args: tuple, kwargs: dict[str, Any]) -> None:
        if type(self).build is Graph.build:
            Graph.build(self)
        try:
            inspect.signature(self.build).bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{type(self).__name__}.build(): {error}") from None

    # --- state

    def state_dict(self, destination: dict[str, Any] | None = None) -> dict[str, Any]:
        """The states of modules, optimizers, schedules and the gradient scaler.

        Args:
            destination: dict to add to; default: a new one.

        Returns:
            The state dict of each module by its attribute name, the graph's own tensors, and
            ``optimizer.0``, ``lr_scheduler.0``, ``scaler.0`` with the states of those;
            ``System-Train-TrainStep`` with the number of steps taken.
        """
        return graph_state(self, {} if destination is None else destination)

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True
    ) -> IncompatibleKeys:
        """Go on from a `state_dict`; possible before the first call only.

        Args:
            state_dict: what `state_dict` returned, here or in OneFlow 0.9.
            strict: names that are missing or unexpected are an error; else they are returned.

        Raises:
            RuntimeError: the graph was called already, or names do not fit.
        """
        if self._steps:
            raise RuntimeError(
                f"{self.name} was called already; load a graph's state before its first call, or "
                "load the states of its modules and optimizers themselves"
            )
        return load_graph_state(self, state_dict, strict)

    # --- deployment

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save the compiled steps and the weights, to run where this class is not known.

        All processes of a placement call this together; each writes its own parts.

        Args:
            path: a folder for graphs alone. An older graph in it is replaced at once when the new
                one is on disk; whatever stops a save, the older one stays.

        Raises:
            FileExistsError: the folder holds something else.
            OSError: the disk is full, or the file system refuses anything else; names the path.
            RuntimeError: the graph was not called yet, or it trains.

        Example:
            >>> import tempfile
            >>> import oneflow as flow
            >>> class Doubled(flow.nn.Graph):
            ...     def build(self, x):
            ...         return x * 2
            >>> graph = Doubled()
            >>> graph(flow.ones(2)).tolist()
            [2.0, 2.0]
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     graph.save(f"{folder}/doubled")
            ...     flow.nn.Graph.load(f"{folder}/doubled")(flow.ones(2)).tolist()
            [2.0, 2.0]
        """
        # A call in several modes has several steps; the one that was used last is saved.
        steps = {called: step for (called, _), step in self._steps.items()}
        save_steps(self.name, list(steps.values()), self.build, Path(path))

    @staticmethod
    def load(path: str | os.PathLike[str]) -> SavedGraph:
        """A graph that `save` stored, ready to be called. Only its compiled program is ever run.

        A graph on a placement needs the same ranks, as devices of one process or as processes.

        Args:
            path: the folder.

        Returns:
            Something to call as the graph was called, with the shapes it was called with.

        Raises:
            FileNotFoundError: there is no such folder.
            RuntimeError: it is damaged, or was saved for another kind of device, or for ranks that
                do not exist here.
        """
        return SavedGraph(Path(path))

    # --- inspection

    def plan(self, *args: Any, **kwargs: Any) -> Any:
        """Return the plan of a call: its costs on each device of the placement. Nothing runs.

        Args:
            args: the arguments of a call of the graph.
            kwargs: likewise; ``compile=False`` makes the plan without XLA.

        Returns:
            A `Plan`, which prints as tables; see `oneflow.plan.plan_graph`.
        """
        return PLAN_GRAPH.value(self, *args, **kwargs)

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Graphs are not copied or pickled.

        Raises:
            TypeError: always.
        """
        raise TypeError(
            f"graph {self.name} cannot be copied or pickled: make another graph of copies of its "
            "modules, or store it with `save`"
        )

    def draw(self, path: str | os.PathLike[str]) -> None:
        """Write a figure of the latest compiled program: modules, and the values between them.

        Args:
            path: an SVG file.

        Raises:
            RuntimeError: the graph was not called yet.
        """
        step = self.last_step
        if step is None:
            raise RuntimeError(f"{self.name} has not been called; there is nothing to draw yet")
        draw_step(step, path)

    def draw_schedule(self, path: str | os.PathLike[str]) -> None:
        """Write a figure of the pipeline that was compiled last: what each stage does when.

        Durations are those measured in the second call.

        Args:
            path: an SVG file.

        Raises:
            RuntimeError: the graph was not called yet, or has everything on one placement.
        """
        step = self.last_step
        if step is None or not isinstance(step.executable, PipelineExecutable):
            state = "has not been called" if step is None else "is no pipeline: it has one stage"
            raise RuntimeError(
                f"{self.name} {state}; put its modules on several placements, number them with "
                "`config.set_stage`, and call the graph first"
            )
        draw_schedule(step.executable, path)

    def __repr__(self) -> str:
        if "_steps" not in self.__dict__:
            return f"<{type(self).__name__} without super().__init__()>"
        latest = self.last_step
        return graph_text(self, None if latest is None else latest.summary)

    def _repr_html_(self) -> str | None:
        """The figure of `draw`, for notebooks; None before the first call, which shows the text."""
        step = self.last_step if "_steps" in self.__dict__ else None
        return None if step is None else step_html(step)

    # --- for capture

    def named_modules(self) -> list[tuple[str, Module]]:
        """The modules assigned to the graph, by attribute name."""
        return list(self._modules.items())

    def graph_attributes(self) -> dict[str, Any]:
        """The graph's own attributes, tensors among them."""
        return self.__dict__

    def guards(self) -> Guards:
        """The Python values that its modules and the graph have as attributes."""
        return Guards(self.named_modules(), self, Graph)

    def added_optimizers(self) -> list[GraphOptimizer]:
        """The optimizers added to the graph."""
        return self._optimizers


def _contains_modules(values: Any) -> bool:
    items = values.values() if isinstance(values, dict) else values
    return any(isinstance(item, Module) for item in items)


PROGRAM_STORE.fill(ProgramStore(Graph, Graph.save, Graph.load))
