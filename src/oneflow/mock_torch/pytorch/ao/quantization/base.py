"""The bases of modules that watch and round values, and factories of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any

import oneflow as flow


class _Factory:
    """A function that makes an object with further arguments at each call.

    Args:
        make: the class, or a factory with fewer arguments.
        arguments: functions by the names of the arguments that they compute at each call.
    """

    def __init__(
        self, make: Callable[..., Any], arguments: dict[str, Callable[[], Any]] | None = None
    ) -> None:
        self._make, self._arguments = make, arguments or {}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        computed = {
            name: compute() for name, compute in self._arguments.items() if name not in kwargs
        }
        return self._make(*args, **computed, **kwargs)

    def __repr__(self) -> str:
        return f"{self._make!r}{self._arguments!r}"

    def with_args(self, **kwargs: Any) -> _Factory:
        """Return a factory with further arguments."""
        return _Factory(partial(self, **kwargs))

    def with_callable_args(self, **kwargs: Callable[[], Any]) -> _Factory:
        """Return a factory with further arguments that functions compute at each call."""
        return _Factory(self._make, {**self._arguments, **kwargs})


class _QuantizationModule(ABC, flow.nn.Module):
    """The base of modules that say how to quantize the tensors that pass."""

    # Buffers that get the shapes of saved ones.
    _resized: tuple[str, ...] = ()

    def _load_from_state_dict(
        self,
        state_dict: Any,
        prefix: str,
        local_metadata: Any,
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        for name in self._resized:
            saved = state_dict.get(prefix + name)
            if saved is not None:
                setattr(self, name, getattr(self, name).new_zeros(saved.shape))
        super()._load_from_state_dict(
            state_dict,
            prefix,
            local_metadata,
            strict,
            missing_keys,
            unexpected_keys,
            error_msgs,
        )

    @abstractmethod
    def forward(self, x: flow.Tensor) -> flow.Tensor:
        """Watch a tensor, and return it as the class says."""

    @abstractmethod
    def calculate_qparams(self, **kwargs: Any) -> Any:
        """Return scale and zero point."""

    @classmethod
    def with_args(cls, **kwargs: Any) -> _Factory:
        """Return a factory of such modules with these arguments."""
        return _Factory(cls).with_args(**kwargs)


class ObserverBase(_QuantizationModule):
    """The base of modules that watch the tensors that pass, and say how to quantize them.

    Args:
        dtype: the quantized type.
        is_dynamic: it watches while the quantized model runs.
    """

    def __init__(self, dtype: Any, is_dynamic: bool = False) -> None:
        super().__init__()
        self.dtype, self.is_dynamic = dtype, is_dynamic

    @classmethod
    def with_callable_args(cls, **kwargs: Callable[[], Any]) -> _Factory:
        """Return a factory of observers with arguments that functions compute at each call."""
        return _Factory(cls).with_callable_args(**kwargs)


class FakeQuantizeBase(_QuantizationModule):
    """The base of modules that round values as their quantized types would, switched by buffers."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("fake_quant_enabled", flow.tensor([1], dtype=flow.uint8))
        self.register_buffer("observer_enabled", flow.tensor([1], dtype=flow.uint8))

    def enable_fake_quant(self, enabled: bool = True) -> None:
        """Enable or disable rounding."""
        self.get_buffer("fake_quant_enabled")[0] = int(enabled)

    def disable_fake_quant(self) -> None:
        """Disable rounding."""
        self.enable_fake_quant(False)

    def enable_observer(self, enabled: bool = True) -> None:
        """Enable or disable the observer."""
        self.get_buffer("observer_enabled")[0] = int(enabled)

    def disable_observer(self) -> None:
        """Disable the observer."""
        self.enable_observer(False)
