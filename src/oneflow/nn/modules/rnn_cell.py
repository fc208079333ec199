"""Single steps of recurrent layers."""

from __future__ import annotations

import math
from typing import Any

from oneflow.base.device import Device
from oneflow.base.dtype import DType
from oneflow.functional.nn.rnn import States, Weights, run_cell, zero_states
from oneflow.module.module import Module
from oneflow.module.parameter import new_parameter
from oneflow.nn import init
from oneflow.tensor.tensor import Tensor


class RNNCellBase(Module):
    """Base of recurrent cells.

    Args:
        input_size: number of features of the input.
        hidden_size: number of features of the state.
        bias: whether there are biases.
        num_chunks: number of gates.
        device: where the parameters live.
        dtype: the dtype of the parameters.

    Attributes:
        weight_ih: ``(num_chunks * hidden_size, input_size)``.
        weight_hh: ``(num_chunks * hidden_size, hidden_size)``.
        bias_ih, bias_hh: ``(num_chunks * hidden_size,)``; None without `bias`.

    Example:
        >>> import oneflow as flow
        >>> isinstance(flow.nn.LSTMCell(3, 4), flow.nn.RNNCellBase)
        True
    """

    mode = ""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool,
        num_chunks: int,
        device: Device | str | None = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias
        rows = num_chunks * hidden_size
        self.weight_ih = new_parameter((rows, input_size), dtype, device)
        self.weight_hh = new_parameter((rows, hidden_size), dtype, device)
        for name in ("bias_ih", "bias_hh"):
            self.register_parameter(name, new_parameter((rows,), dtype, device) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new initial values, as PyTorch does."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def _step(self, input: Tensor, states: States | None, count: int) -> States:
        """The states after one step; inputs without a batch get one and lose it again."""
        self._check(input, states)
        batched = input.ndim == 2
        x = input if batched else input.unsqueeze(0)
        if states is None:
            states = zero_states(x, [(x.shape[0], self.hidden_size)] * count)
        elif not batched:
            states = tuple([state.unsqueeze(0) for state in states])
        weights = Weights(self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        final_states = run_cell(self.mode, x, states, weights)
        return final_states if batched else tuple([state.squeeze(0) for state in final_states])

    def _check(self, input: Tensor, states: States | None) -> None:
        if input.ndim not in (1, 2):
            raise ValueError(
                f"{self._get_name()}: Expected input to be 1D or 2D, got {input.ndim}D instead"
            )
        if input.shape[-1] != self.input_size:
            raise RuntimeError(
                f"input has inconsistent input_size: got {input.shape[-1]} expected "
                f"{self.input_size}"
            )
        for state in states or ():
            if state.ndim not in (1, 2):
                raise ValueError(
                    f"{self._get_name()}: Expected hidden to be 1D or 2D, got {state.ndim}D instead"
                )
            expected = (*input.shape[:-1], self.hidden_size)
            if tuple(state.shape) != expected:
                raise RuntimeError(
                    f"expected hidden state of shape {expected}, got {tuple(state.shape)}"
                )

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        if not self.bias:
            text += f", bias={self.bias}"
        nonlinearity = getattr(self, "nonlinearity", "tanh")
        return text if nonlinearity == "tanh" else f"{text}, nonlinearity={nonlinearity}"


class LSTMCell(RNNCellBase):
    """One step of an LSTM.

    Args:
        input_size: number of features of the input.
        hidden_size: number of features of the state.
        bias: whether there are biases.
        device: where the parameters live.
        dtype: the dtype of the parameters.

    Attributes:
        weight_ih: ``(4 * hidden_size, input_size)``.
        weight_hh: ``(4 * hidden_size, hidden_size)``.
        bias_ih, bias_hh: ``(4 * hidden_size,)``; None without `bias`. All start uniform in
            ``[-bound, bound]`` with ``bound = 1 / sqrt(hidden_size)``.

    Shape:
        input: ``(N, input_size)`` or ``(input_size)``.
        h: ``(N, hidden_size)`` or ``(hidden_size)``.
        c: ``(N, hidden_size)`` or ``(hidden_size)``.

    Example:
        >>> import oneflow as flow
        >>> h, c = flow.nn.LSTMCell(10, 20)(flow.ones(3, 10))
        >>> h.shape, c.shape
        (oneflow.Size([3, 20]), oneflow.Size([3, 20]))
    """

    mode = "LSTM"

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: Device | str | None = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None) -> Any:
        return self._step(input, None if hx is None else tuple(hx), 2)


class GRUCell(RNNCellBase):
    """One step of a GRU; arguments as for `LSTMCell`.

    Attributes:
        weight_ih: ``(3 * hidden_size, input_size)``.
        weight_hh: ``(3 * hidden_size, hidden_size)``.
        bias_ih, bias_hh: ``(3 * hidden_size,)``; None without `bias`. All start uniform in
            ``[-bound, bound]`` with ``bound = 1 / sqrt(hidden_size)``.

    Shape:
        input: ``(N, input_size)`` or ``(input_size)``.
        output: ``(N, hidden_size)`` or ``(hidden_size)``.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.GRUCell(10, 20)(flow.ones(3, 10)).shape
        oneflow.Size([3, 20])
    """

    mode = "GRU"

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: Device | str | None = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        return self._step(input, None if hx is None else (hx,), 1)[0]


class RNNCell(RNNCellBase):
    """One step of a plain recurrent layer.

    Args:
        input_size: number of features of the input.
        hidden_size: number of features of the state.
        bias: whether there are biases.
        nonlinearity: ``"tanh"`` or ``"relu"``.
        device: where the parameters live.
        dtype: the dtype of the parameters.

    Attributes:
        weight_ih: ``(hidden_size, input_size)``.
        weight_hh: ``(hidden_size, hidden_size)``.
        bias_ih, bias_hh: ``(hidden_size,)``; None without `bias`. All start uniform in
            ``[-bound, bound]`` with ``bound = 1 / sqrt(hidden_size)``.

    Shape:
        input: ``(N, input_size)`` or ``(input_size)``.
        output: ``(N, hidden_size)`` or ``(hidden_size)``.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.RNNCell(10, 20)(flow.ones(3, 10)).shape
        oneflow.Size([3, 20])
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: Device | str | None = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity
        self.mode = f"RNN_{nonlinearity.upper()}"

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__({"mode": f"RNN_{state['nonlinearity'].upper()}", **state})

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        return self._step(input, None if hx is None else (hx,), 1)[0]
