"""The context of a call of a user's function, and the tensors that it saves."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, cast

from oneflow.differentiation.node import SECOND_BACKWARD, modified_error
from oneflow.differentiation.saved import Packed, packed
from oneflow.tensor.call import wrap
from oneflow.tensor.composed import composed_form, elements_of, in_form
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.views import unwrap


class FunctionCtx:
    """The context of one call of a `Function`, shared by `forward` and `backward`.

    Attributes:
        needs_input_grad: per argument of `forward`, whether its gradient is wanted.
    """

    def __init__(self, needs_input_grad: tuple[bool, ...] = ()) -> None:
        self.needs_input_grad = needs_input_grad
        self.materialize_grads = True
        self._to_save: tuple = ()
        self._to_save_for_forward: tuple = ()
        self._dirty: tuple = ()
        self._without_gradient: tuple = ()
        self._saved: list | None = []
        self._saved_for_forward: list | None = []
        self._in_jvp = False
        self._node: Any = None
        self._grads: Sequence = ()

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keep tensors for `backward`: arguments, results or others.

        Raises:
            TypeError: something that is neither a tensor nor None.
        """
        _check_tensors("save_for_backward", tensors)
        self._to_save = tensors

    def save_for_forward(self, *tensors: Tensor | None) -> None:
        """Keep tensors for `jvp`, which reads them as `saved_tensors`.

        Raises:
            TypeError: something that is neither a tensor nor None.
        """
        _check_tensors("save_for_forward", tensors)
        self._to_save_for_forward = tensors

    def mark_dirty(self, *tensors: Tensor) -> None:
        """Say that `forward` changed these arguments in place; it must return them."""
        self._dirty = tensors

    def mark_non_differentiable(self, *tensors: Tensor) -> None:
        """Say that no gradient flows through these results."""
        self._without_gradient = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """Give `backward` zeros (the default) or None where no gradient arrived."""
        self.materialize_grads = value

    @property
    def saved_tensors(self) -> tuple[Tensor, ...]:
        """The tensors saved for backward, in `jvp` those for that, and None in the place of one.

        Raises:
            RuntimeError: it has been freed, or written to since.
        """
        is_for_forward = self._in_jvp and self._saved_for_forward != []
        saved = self._saved_for_forward if is_for_forward else self._saved
        if saved is None:
            raise RuntimeError(SECOND_BACKWARD)
        tensors = [None if tensor is None else tensor.restore(self) for tensor in saved]
        return tuple(cast(list[Tensor], tensors))

    saved_variables = saved_tensors

    def _save(self, outputs: Sequence[Any]) -> None:
        """Save the collected tensors; results are saved without their history."""
        positions = {id(output): index for index, output in enumerate(outputs)}

        def pack(tensors: Iterable[Tensor | None]) -> list[_Saved | None]:
            return [
                None if tensor is None else _Saved(tensor, positions.get(id(tensor)))
                for tensor in tensors
            ]

        self._saved, self._to_save = pack(self._to_save), ()
        self._saved_for_forward = pack(self._to_save_for_forward)
        self._to_save_for_forward = ()

    def _release(self) -> None:
        """Release the saved tensors."""
        if self._saved:
            self._saved = None
        if self._saved_for_forward:
            self._saved_for_forward = None


def _check_tensors(method: str, arguments: Sequence[Any]) -> None:
    """Check the tensors to save.

    Raises:
        TypeError: something is neither a tensor nor None.
    """
    for position, tensor in enumerate(arguments):
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(
                f"{method} can only save variables, but argument {position} is of type "
                f"{type(tensor).__name__}; keep other things as attributes of `ctx`"
            )


class _Saved:
    """One tensor saved by a context. For a result: its value and which one it is."""

    __slots__ = ("_form", "_kept", "_output", "_tensor")

    def __init__(self, tensor: Tensor, output: int | None) -> None:
        value = unwrap(elements_of(tensor))
        value = value if output is None else value.alias()
        self._kept = packed(value)
        self._output = output
        self._form = composed_form(tensor)
        self._tensor = tensor if output is None and self._kept is value else None

    def restore(self, context: FunctionCtx) -> Tensor:
        """The tensor, as it was."""
        tensor, node = self._kept, context._node
        if type(tensor) is Packed:
            tensor = tensor.unpack(context._grads)
        elif tensor.stale or (self._output is not None and node is not None and node.stale_outputs):
            raise modified_error(tensor.spec, node.name() if node is not None else "backward")
        if self._tensor is not None and elements_of(self._tensor)._value is tensor:
            return self._tensor
        if self._output is not None and node is not None:
            tensor = tensor.alias()
            tensor.node, tensor.output_index = node, self._output
        return in_form(self._form, wrap(tensor))
