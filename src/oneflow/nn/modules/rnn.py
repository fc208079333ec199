"""Recurrent layers."""

from __future__ import annotations

from typing import ClassVar

from oneflow.base.device import Device
from oneflow.base.dtype import DType
from oneflow.nn.modules.recurrent_base import RNNBase as RNNBase
from oneflow.tensor.tensor import Tensor


class _GatedLayer(RNNBase):
    """A recurrent layer with gates, whose `_mode` is its mode in `RNNBase`."""

    _mode: ClassVar[str]

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Device | str | None = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__(
            self._mode,
            input_size,
            hidden_size,
            num_layers,
            bias,
            batch_first,
            dropout,
            bidirectional,
            proj_size,
            device,
            dtype,
        )


class LSTM(_GatedLayer):
    """Long short-term memory.

    Args:
        input_size: number of features of the input.
        hidden_size: number of features of the state.
        num_layers: number of layers, each reading the one before.
        bias: whether there are biases.
        batch_first: input and output are ``(batch, steps, features)``.
        dropout: probability of dropout between layers.
        bidirectional: a second set of layers reads backwards.
        proj_size: project the outputs to this size; 0: not.
        device: where the parameters live.
        dtype: the dtype of the parameters.

    Call it with the input, ``(steps, batch, features)``, ``(steps, features)`` or a packed batch,
    and optionally the initial ``(h, c)``; it returns the outputs and the final ``(h, c)``.

    Attributes:
        weight_ih_l[k]: of layer ``k``, ``(4 * hidden_size, input_size)``, or for ``k > 0``
            ``(4 * hidden_size, D * H)``: input, forget, cell and output gate one below the other.
            Layers that read backwards have the same names with ``_reverse``.
        weight_hh_l[k]: ``(4 * hidden_size, H)``.
        bias_ih_l[k], bias_hh_l[k]: ``(4 * hidden_size,)``; none without `bias`.
        weight_hr_l[k]: ``(proj_size, hidden_size)``, if `proj_size` is not 0. All start uniform in
            ``[-bound, bound]`` with ``bound = 1 / sqrt(hidden_size)``.

    Shape:
        input: ``(L, N, input_size)`` or ``(L, input_size)``; with `batch_first`
            ``(N, L, input_size)``.
        output: ``(L, N, D * H)`` or ``(L, D * H)``, the batch first as in the input;
            ``D = 1 + bidirectional``, and ``H = proj_size or hidden_size``.
        h_n: ``(D * num_layers, N, H)`` or ``(D * num_layers, H)``.
        c_n: ``(D * num_layers, N, hidden_size)`` or ``(D * num_layers, hidden_size)``.

    Example:
        >>> import oneflow as flow
        >>> lstm = flow.nn.LSTM(10, 20, num_layers=2)
        >>> output, (h, c) = lstm(flow.ones(5, 3, 10))
        >>> output.shape, h.shape
        (oneflow.Size([5, 3, 20]), oneflow.Size([2, 3, 20]))
    """

    _mode = "LSTM"

    def get_expected_cell_size(self, input: Tensor, batch_sizes: Tensor | None) -> tuple[int, ...]:
        """Return the shape of the cell states for an input, or for packed `batch_sizes`."""
        return self._expected_shapes(input, batch_sizes)[1]


class GRU(_GatedLayer):
    """Gated recurrent units; arguments as for `LSTM`; `proj_size` must be 0.

    Call it with the input and optionally the initial state; it returns the outputs and the final
    state.

    Attributes:
        weight_ih_l[k]: of layer ``k``, ``(3 * hidden_size, input_size)``, or for ``k > 0``
            ``(3 * hidden_size, D * hidden_size)``: reset, update and new gate, one below the other.
            Layers that read backwards have the same names with ``_reverse``.
        weight_hh_l[k]: ``(3 * hidden_size, hidden_size)``.
        bias_ih_l[k], bias_hh_l[k]: ``(3 * hidden_size,)``; none without `bias`. All start uniform
            in ``[-bound, bound]`` with ``bound = 1 / sqrt(hidden_size)``.

    Shape:
        input: ``(L, N, input_size)`` or ``(L, input_size)``; with `batch_first`
            ``(N, L, input_size)``.
        output: ``(L, N, D * hidden_size)`` or ``(L, D * hidden_size)``, the batch first as in the
            input; ``D = 1 + bidirectional``.
        h_n: ``(D * num_layers, N, hidden_size)`` or ``(D * num_layers, hidden_size)``.

    Example:
        >>> import oneflow as flow
        >>> output, h = flow.nn.GRU(10, 20, bidirectional=True)(flow.ones(5, 3, 10))
        >>> output.shape, h.shape
        (oneflow.Size([5, 3, 40]), oneflow.Size([2, 3, 20]))
    """

    _mode = "GRU"


class RNN(RNNBase):
    """Plain recurrent layers; arguments as for `LSTM`; `proj_size` must be 0.

    Args:
        nonlinearity: ``"tanh"`` or ``"relu"``.

    Attributes:
        weight_ih_l[k]: of layer ``k``, ``(hidden_size, input_size)``, or for ``k > 0``
            ``(hidden_size, D * hidden_size)``.
            Layers that read backwards have the same names with ``_reverse``.
        weight_hh_l[k]: ``(hidden_size, hidden_size)``.
        bias_ih_l[k], bias_hh_l[k]: ``(hidden_size,)``; none without `bias`. All start uniform
            in ``[-bound, bound]`` with ``bound = 1 / sqrt(hidden_size)``.

    Shape:
        input: ``(L, N, input_size)`` or ``(L, input_size)``; with `batch_first`
            ``(N, L, input_size)``.
        output: ``(L, N, D * hidden_size)`` or ``(L, D * hidden_size)``, the batch first as in the
            input; ``D = 1 + bidirectional``.
        h_n: ``(D * num_layers, N, hidden_size)`` or ``(D * num_layers, hidden_size)``.

    Example:
        >>> import oneflow as flow
        >>> output, h = flow.nn.RNN(10, 20, nonlinearity="relu")(flow.ones(5, 3, 10))
        >>> output.shape, h.shape
        (oneflow.Size([5, 3, 20]), oneflow.Size([1, 3, 20]))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        nonlinearity: str = "tanh",
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Device | str | None = None,
        dtype: DType | None = None,
    ) -> None:
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(
                f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'."
            )
        super().__init__(
            f"RNN_{nonlinearity.upper()}",
            input_size,
            hidden_size,
            num_layers,
            bias,
            batch_first,
            dropout,
            bidirectional,
            proj_size,
            device,
            dtype,
        )
        self.nonlinearity = nonlinearity
