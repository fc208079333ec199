"""Pruning methods, which are hooks, and several of them for one parameter."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

from oneflow.base.shape import wrap_dim
from oneflow.functional.creation.factory_functions import ones_like
from oneflow.module.module import Module
from oneflow.tensor.tensor import Tensor


class BasePruningMethod(ABC):
    """Base of pruning methods, which are hooks that compute the pruned tensor before every call.

    A method defines `compute_mask`, and `PRUNING_TYPE`: what `PruningContainer` lets it choose from
    when it comes after others. ``"unstructured"``: elements that are left, ``"structured"``: slices
    of which something is left, along its attribute `dim`; ``"global"``: everything.

    Attributes:
        target_name: name of the parameter.

    Example:
        >>> import oneflow as flow
        >>> class EverySecond(flow.nn.utils.prune.BasePruningMethod):
        ...     PRUNING_TYPE = "unstructured"
        ...     def compute_mask(self, t, default_mask):
        ...         mask = default_mask.clone()
        ...         mask.view(-1)[::2] = 0
        ...         return mask
        >>> layer = flow.nn.Linear(4, 1)
        >>> method = EverySecond.apply(layer, "weight")
        >>> layer.weight_mask
        tensor([[0., 1., 0., 1.]], dtype=oneflow.float32)
    """

    PRUNING_TYPE: str
    dim: int
    # PyTorch's name, by which programs look for the hook of a parameter, and which files hold.
    _tensor_name: str | None = None

    @property
    def target_name(self) -> str | None:
        """The name of the parameter."""
        return self._tensor_name

    @abstractmethod
    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Return the mask of a tensor, ones and zeros in its shape.

        Args:
            t: the importance of each element: the tensor itself, or scores in its place.
            default_mask: the mask of what was pruned before.
        """

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, str(self.target_name), self.apply_mask(module))

    def apply_mask(self, module: Module) -> Tensor:
        """Return the pruned parameter of a module."""
        original = getattr(module, f"{self.target_name}_orig")
        return getattr(module, f"{self.target_name}_mask").to(original.dtype) * original

    @classmethod
    def apply(
        cls,
        module: Module,
        name: str,
        *args: Any,
        importance_scores: Tensor | None = None,
        **kwargs: Any,
    ) -> BasePruningMethod:
        """Prune a parameter of a module; one that is pruned already loses more.

        Args:
            module: has the parameter.
            name: the name of the parameter.
            *args: arguments of the method.
            importance_scores: what the mask is computed from, by default the parameter.
            **kwargs: arguments of the method.

        Returns:
            The hook: the method, or a `PruningContainer` of all methods in order.

        Raises:
            ValueError: `importance_scores` has another shape.
        """
        method = cls(*args, **kwargs)
        method._tensor_name = name
        before = pruning_of(module, name)
        weight = getattr(module, name if before is None else f"{name}_orig")
        # The current values of the parameter are 0 where elements have been pruned.
        scores = getattr(module, name) if importance_scores is None else importance_scores
        require_scores(scores, weight)
        if before is None:
            mask = method.compute_mask(scores.detach(), ones_like(weight.detach()))
            del module._parameters[name]
            module.register_parameter(f"{name}_orig", weight)
            rule: BasePruningMethod = method
        else:
            number, old = before
            rule = PruningContainer(*(old if isinstance(old, PruningContainer) else [old]), method)
            default = getattr(module, f"{name}_mask").detach().clone()
            mask = rule.compute_mask(scores.detach(), default)
            del module._forward_pre_hooks[number]
        module.register_buffer(f"{name}_mask", mask)
        rule(module, ())
        module.register_forward_pre_hook(rule)
        return rule

    def prune(
        self,
        t: Tensor,
        default_mask: Tensor | None = None,
        importance_scores: Tensor | None = None,
    ) -> Tensor:
        """Return a tensor without the elements that the method takes away.

        Args:
            t: tensor of any shape.
            default_mask: the mask of what was pruned before, by default ones.
            importance_scores: what the mask is computed from, by default `t`.

        Raises:
            ValueError: `importance_scores` has another shape.
        """
        scores = t if importance_scores is None else importance_scores
        require_scores(scores, t)
        default = ones_like(t.detach()) if default_mask is None else default_mask
        return t * self.compute_mask(scores.detach(), default.clone()).to(t.dtype)

    def remove(self, module: Module) -> None:
        """Make the pruned tensor an ordinary parameter again; pruned elements stay zero."""
        name = str(self.target_name)
        weight = self.apply_mask(module).detach()
        original = module._parameters.pop(f"{name}_orig")
        original.data = weight
        del module._buffers[f"{name}_mask"]
        delattr(module, name)
        setattr(module, name, original)


def require_scores(scores: Tensor, t: Tensor) -> None:
    """Check that there is a score for each element.

    Raises:
        ValueError: the shapes differ.
    """
    if scores.shape != t.shape:
        raise ValueError(
            "`importance_scores` must have the shape of the pruned tensor, "
            f"{tuple(t.shape)}, got {tuple(scores.shape)}"
        )


def pruning_of(module: Module, name: str) -> tuple[int, BasePruningMethod] | None:
    """The number and the hook by which a parameter is pruned, if it is."""
    for number, hook in module._forward_pre_hooks.items():
        if isinstance(hook, BasePruningMethod) and hook.target_name == name:
            return number, hook
    return None


class PruningContainer(BasePruningMethod):
    """Several pruning methods for one parameter; each prunes elements that the previous ones left.

    Args:
        *args: the methods, in order.

    Example:
        >>> import oneflow as flow
        >>> prune = flow.nn.utils.prune
        >>> layer = prune.l1_unstructured(flow.nn.Linear(4, 1), "weight", amount=1)
        >>> both = prune.L1Unstructured.apply(layer, "weight", 1)
        >>> len(both), layer.weight_mask.sum().item()
        (2, 2.0)
    """

    PRUNING_TYPE = "container"

    def __init__(self, *args: BasePruningMethod) -> None:
        self._pruning_methods: tuple[BasePruningMethod, ...] = ()
        for method in args:
            self.add_pruning_method(method)

    def add_pruning_method(self, method: BasePruningMethod) -> None:
        """Add a method at the end.

        Raises:
            TypeError: it is none.
            ValueError: it is for another parameter.
        """
        if not isinstance(method, BasePruningMethod):
            raise TypeError(f"{type(method).__name__} is not a BasePruningMethod subclass")
        if self._pruning_methods and method.target_name != self.target_name:
            raise ValueError(
                "Can only add pruning methods acting on the parameter named "
                f"'{self.target_name}' to this PruningContainer; got one for '{method.target_name}'"
            )
        self._tensor_name = method.target_name
        self._pruning_methods = (*self._pruning_methods, method)

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self) -> Iterator[BasePruningMethod]:
        return iter(self._pruning_methods)

    def __getitem__(self, index: int) -> BasePruningMethod:
        return self._pruning_methods[index]

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Return `default_mask` without what the last method takes away.

        Raises:
            ValueError: its `PRUNING_TYPE` is unknown.
        """
        method = self._pruning_methods[-1]
        kind = method.PRUNING_TYPE
        if kind == "unstructured":
            part: Any = default_mask == 1
        elif kind == "structured":
            dim = wrap_dim(method.dim, t.ndim)
            others = [axis for axis in range(t.ndim) if axis != dim]
            remaining = default_mask.sum(dim=others) != 0
            part = (*[slice(None)] * dim, remaining)
        elif kind == "global":
            part = (slice(None),) * t.ndim
        else:
            raise ValueError(f"Unrecognized PRUNING_TYPE {kind}")
        mask = default_mask.clone()
        mask[part] = method.compute_mask(t[part], default_mask[part]).to(mask.dtype)
        return mask
