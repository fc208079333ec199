"""Names that ``torch.utils.hooks`` has beside `oneflow.utils.hooks`."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from oneflow.autograd.function import Function
from oneflow.base.location import frames_to_user
from oneflow.tensor.tensor import Tensor

_Hook = TypeVar("_Hook", bound=Callable[..., Any])


def unserializable_hook(f: _Hook) -> _Hook:
    """Mark a hook of tensors, so that sending a tensor with it warns.

    Args:
        f: the hook.
    """
    setattr(f, "__torch_unserializable__", True)  # noqa: B010
    return f


def warn_if_has_hooks(tensor: Any) -> None:
    """Warn that hooks of a tensor are not saved with it, but for those that are marked."""
    for hook in (tensor._backward_hooks or {}).values():
        if not hasattr(hook, "__torch_unserializable__"):
            warnings.warn(
                f"backward hook {hook!r} on tensor will not be serialized. If this is expected, "
                "decorate the function with `torch.utils.hooks.unserializable_hook`",
                UserWarning,
                frames_to_user(),
            )


class _Watched(Function):
    """Tensors as they are, whose gradients a function gets together, and may replace."""

    @staticmethod
    def forward(ctx: Any, watch: Callable[[Sequence[Any]], Any], *tensors: Tensor) -> Any:
        ctx.watch = watch
        return tuple(tensor.view_as(tensor) for tensor in tensors)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return (None, *ctx.watch(grads))


class BackwardHook:
    """Hooks of a module's backward pass, put around a call of it.

    Args:
        module: what the hooks get first.
        user_hooks: get the gradients of the inputs and of the outputs, and may replace the former.
        user_pre_hooks: get the gradients of the outputs, and may replace them.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.mock_torch.pytorch.utils.hooks import BackwardHook
        >>> hook = BackwardHook(None, [lambda module, inputs, outputs: (3 * inputs[0],)], [])
        >>> x = flow.ones(1, requires_grad=True)
        >>> (inner,) = hook.setup_input_hook((x,))
        >>> hook.setup_output_hook(2 * inner).backward()
        >>> x.grad.item()
        6.0
    """

    def __init__(
        self,
        module: Any,
        user_hooks: Sequence[Callable[..., Any]],
        user_pre_hooks: Sequence[Callable[..., Any]],
    ) -> None:
        self.module, self.user_hooks, self.user_pre_hooks = module, user_hooks, user_pre_hooks
        self.grad_outputs: tuple[Any, ...] | None = None

    def setup_input_hook(self, args: Any) -> Any:
        """Return the arguments of a call, whose gradients the hooks get."""
        return self._watch(args, self._inputs_done)

    def setup_output_hook(self, args: Any) -> Any:
        """Return the results of a call, whose gradients the hooks get."""
        return self._watch(args, self._outputs_done)

    def _watch(self, args: Any, done: Callable[..., Any]) -> Any:
        is_single = not isinstance(args, tuple)
        values = [args] if is_single else list(args)
        places = [place for place, value in enumerate(values) if isinstance(value, Tensor)]
        if any(values[place].requires_grad for place in places):

            def watch(grads: Sequence[Any]) -> list[Any]:
                whole = [None] * len(values)
                for place, grad in zip(places, grads, strict=True):
                    whole[place] = grad
                results = done(tuple(whole))
                return [results[place] for place in places]

            tensors = _Watched.apply(watch, *(values[place] for place in places))
            for place, tensor in zip(places, tensors, strict=True):
                values[place] = tensor
        return values[0] if is_single else tuple(values)

    def _outputs_done(self, grads: tuple[Any, ...]) -> tuple[Any, ...]:
        for hook in self.user_pre_hooks:
            grads = _replaced(grads, hook(self.module, grads), "grad_output")
        self.grad_outputs = grads
        return grads

    def _inputs_done(self, grads: tuple[Any, ...]) -> tuple[Any, ...]:
        outputs, self.grad_outputs = self.grad_outputs, None
        for hook in self.user_hooks if outputs is not None else ():
            grads = _replaced(grads, hook(self.module, grads, outputs), "grad_input")
        return grads


def _replaced(grads: tuple[Any, ...], result: Any, name: str) -> tuple[Any, ...]:
    """Gradients, or what a hook returned in their place.

    Raises:
        RuntimeError: there are more or fewer of those.
    """
    if result is None:
        return grads
    results = result if isinstance(result, tuple) else (result,)
    if len(results) != len(grads):
        raise RuntimeError(
            f"Backward hook returned an invalid number of {name}, got {len(results)}, but expected "
            f"{len(grads)}"
        )
    return results
