"""`BlockConfig`: the options of one module of a graph."""

from __future__ import annotations

from collections.abc import Callable

from oneflow.base.placement import Placement
from oneflow.graph.verbosity import QUIET


class BlockConfig:
    """Options of one module of a graph: ``graph.module.config``.

    Changing one compiles the graph again at the next call.

    Example:
        >>> import oneflow as flow
        >>> class TwoLayers(flow.nn.Graph):
        ...     def __init__(self):
        ...         super().__init__()
        ...         self.first = flow.nn.Linear(3, 5)
        ...         self.second = flow.nn.Linear(5, 8)
        ...         self.first.config.activation_checkpointing = True
        ...     def build(self, x):
        ...         return self.second(self.first(x))
        >>> TwoLayers().first.config.activation_checkpointing
        True
    """

    __slots__ = ("_activation_checkpointing", "_changed", "_placement", "_stage_id", "verbosity")

    def __init__(self, changed: Callable[[], None] = lambda: None) -> None:
        self._changed = changed
        self._stage_id: int | None = None
        self._placement: Placement | None = None
        self._activation_checkpointing = False
        self.verbosity = QUIET

    @property
    def stage_id(self) -> int | None:
        """Number of the pipeline stage that the module belongs to, from 0; None without one."""
        return self._stage_id

    @stage_id.setter
    def stage_id(self, value: int | None) -> None:
        if value is not None and (type(value) is not int or value < 0):
            raise ValueError(f"`stage_id` must be an integer from 0 or None, got {value!r}")
        self._stage_id = value
        self._changed()

    @property
    def stage_placement(self) -> Placement | None:
        """The placement of the stage, as given to `set_stage`."""
        return self._placement

    def set_stage(self, stage_id: int | None = None, placement: Placement | None = None) -> None:
        """Set the pipeline stage of the module; its inputs are transferred to the stage.

        Args:
            stage_id: number of the stage, from 0.
            placement: placement of the stage; default: that of the module's parameters.

        Raises:
            TypeError: `placement` is not a placement.
        """
        if not isinstance(placement, Placement | None):
            raise TypeError(
                f"`placement` must be a oneflow.placement, got {type(placement).__name__}"
            )
        self.stage_id = stage_id
        self._placement = placement

    @property
    def activation_checkpointing(self) -> bool:
        """True if backward computes the module's activations again instead of keeping them."""
        return self._activation_checkpointing

    @activation_checkpointing.setter
    def activation_checkpointing(self, mode: bool) -> None:
        if not isinstance(mode, bool):
            raise TypeError(f"`activation_checkpointing` must be True or False, got {mode!r}")
        self._activation_checkpointing = mode
        self._changed()

    def __repr__(self) -> str:
        return (
            f"BlockConfig(stage_id={self._stage_id}, "
            f"activation_checkpointing={self._activation_checkpointing})"
        )
