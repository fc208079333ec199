"""The parameters, the checks and the forward pass that recurrent layers share."""

from __future__ import annotations

import math
import warnings
from typing import Any

from oneflow.base.device import Device
from oneflow.base.dtype import DType
from oneflow.base.flags import reject_strings
from oneflow.functional.nn.rnn import GATE_COUNT, States, Weights, run_layers, zero_states
from oneflow.module.module import Module
from oneflow.module.parameter import new_parameter
from oneflow.nn import init
from oneflow.nn.packed import PackedSequence, gathered, to_padded
from oneflow.tensor.tensor import Tensor
from oneflow.tuning.host_memory import OBJECT_SIZE, require_host_memory


class RNNBase(Module):
    """Base of recurrent layers: their parameters, and the forward pass.

    Args:
        mode: ``"LSTM"``, ``"GRU"``, ``"RNN_TANH"`` or ``"RNN_RELU"``.
        input_size: number of features of the input.
        hidden_size: number of features of the state.
        num_layers: number of layers, each reading the one before.
        bias: whether there are biases.
        batch_first: input and output are ``(batch, steps, features)``.
        dropout: probability of dropout between layers.
        bidirectional: a second set of layers reads backwards.
        proj_size: project an LSTM's outputs to this size; 0: not.
        device: where the parameters live.
        dtype: the dtype of the parameters.

    Attributes:
        weight_ih_l[k], weight_hh_l[k], bias_ih_l[k], bias_hh_l[k]: see `LSTM`, `GRU` and `RNN`.

    Example:
        >>> import oneflow as flow
        >>> layer = flow.nn.GRU(3, 4)
        >>> isinstance(layer, flow.nn.RNNBase), layer.mode
        (True, 'GRU')
    """

    @reject_strings
    def __init__(
        self,
        mode: str,
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
        super().__init__()
        self.mode = mode
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout = float(dropout)
        self.bidirectional = bidirectional
        self.proj_size = proj_size
        self._check_settings()
        require_host_memory(mode, num_layers, OBJECT_SIZE)
        for layer in range(num_layers):
            for suffix in self._suffixes(layer):
                self._add_parameters(layer, suffix, {"device": device, "dtype": dtype})
        self.reset_parameters()

    def __setstate__(self, state: dict[str, Any]) -> None:
        # PyTorch's layers have their weights also in lists.
        names = ("_all_weights", "_flat_weights", "_flat_weights_names", "_flat_weight_refs")
        super().__setstate__({name: state[name] for name in state if name not in names})

    def _attributes_in_pytorch(self) -> dict[str, Any]:
        # Without a name there, PyTorch makes these lists anew.
        return {"_all_weights": [[None]]}

    def _check_settings(self) -> None:
        if self.mode not in GATE_COUNT:
            raise ValueError(f"Unrecognized RNN mode: {self.mode}")
        if not 0 <= self.dropout <= 1:
            raise ValueError(
                "dropout should be a number in range [0, 1] representing the probability of an "
                f"element being zeroed, got {self.dropout}"
            )
        if self.hidden_size <= 0:
            raise ValueError(f"hidden_size must be greater than zero, got {self.hidden_size}")
        if self.num_layers <= 0:
            raise ValueError(f"num_layers must be greater than zero, got {self.num_layers}")
        if self.proj_size < 0 or self.proj_size >= self.hidden_size:
            raise ValueError(
                "proj_size should be at least 0 (no projections) and smaller than hidden_size, "
                f"got {self.proj_size}"
            )
        if self.proj_size and self.mode != "LSTM":
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        if self.dropout > 0 and self.num_layers == 1:
            warnings.warn(
                "dropout option adds dropout after all but last recurrent layer, so non-zero "
                f"dropout expects num_layers greater than 1, but got dropout={self.dropout} and "
                f"num_layers={self.num_layers}",
                stacklevel=4,
            )

    @property
    def _output_size(self) -> int:
        """Features of one direction's outputs."""
        return self.proj_size or self.hidden_size

    @property
    def _directions(self) -> int:
        return 2 if self.bidirectional else 1

    def _suffixes(self, layer: int) -> list[str]:
        """Suffixes of the parameters' names in one layer, one per direction."""
        return [f"_l{layer}", f"_l{layer}_reverse"][: self._directions]

    def _add_parameters(self, layer: int, suffix: str, options: dict[str, Any]) -> None:
        rows = GATE_COUNT[self.mode] * self.hidden_size
        width = self.input_size if layer == 0 else self._output_size * self._directions
        shapes = {"weight_ih": (rows, width), "weight_hh": (rows, self._output_size)}
        if self.bias:
            shapes |= {"bias_ih": (rows,), "bias_hh": (rows,)}
        if self.proj_size:
            shapes["weight_hr"] = (self.proj_size, self.hidden_size)
        for name, shape in shapes.items():
            self.register_parameter(name + suffix, new_parameter(shape, **options))

    def reset_parameters(self) -> None:
        """Draw new initial values, as PyTorch does."""
        bound = 1.0 / math.sqrt(self.hidden_size)
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def flatten_parameters(self) -> None:
        """Nothing to do: XLA lays parameters out itself. Kept for code written for PyTorch."""

    @property
    def all_weights(self) -> list[list[Tensor]]:
        """The parameters, one list per layer and direction."""
        return [
            [weight for weight in weights if weight is not None]
            for layer in self._weights()
            for weights in layer
        ]

    @property
    def _flat_weights(self) -> list[Tensor]:
        # PyTorch's name, which programs read.
        return [weight for weights in self.all_weights for weight in weights]

    def _weights(self) -> list[list[Weights]]:
        parameters = self._parameters
        kinds = ("weight_ih", "weight_hh", "bias_ih", "bias_hh", "weight_hr")
        missing = (() if self.bias else kinds[2:4]) + (() if self.proj_size else kinds[4:])

        def part(kind: str, suffix: str) -> Any:
            if kind in missing:
                return None
            # A pruned or normalised weight is an attribute, and no parameter.
            name = kind + suffix
            return parameters[name] if name in parameters else getattr(self, name)

        def of(suffix: str) -> Weights:
            return Weights(*[part(kind, suffix) for kind in kinds])

        return [list(map(of, self._suffixes(layer))) for layer in range(self.num_layers)]

    def _state_shapes(self, batch: int) -> list[tuple[int, ...]]:
        """Shapes of the hidden (and cell) states."""
        rows = self.num_layers * self._directions
        sizes = [self._output_size, *([self.hidden_size] if self.mode == "LSTM" else [])]
        return [(rows, batch, size) for size in sizes]

    # --- running

    def forward(self, input: Tensor | PackedSequence, hx: Any = None) -> tuple[Any, Any]:
        states = None if hx is None else self._as_tuple(hx)
        if isinstance(input, PackedSequence):
            output, final_states = self._run_packed(input, states)
        else:
            output, final_states = self._run_padded(input, states)
        return output, final_states if self.mode == "LSTM" else final_states[0]

    def _as_tuple(self, hx: Any) -> States:
        return tuple(hx) if self.mode == "LSTM" else (hx,)

    def _run_padded(self, input: Tensor, states: States | None) -> tuple[Tensor, States]:
        self.check_input(input)
        batched = input.ndim == 3
        x = input.transpose(0, 1) if batched and self.batch_first else input
        if not batched:
            x = x.unsqueeze(1)
            states = self._batched_states(states)
        elif states is not None:
            for state in states:
                self._check_rank(state, 3, "batched")
        output, final_states = self._run(x, states, None)
        if not batched:
            return output.squeeze(1), tuple([state.squeeze(1) for state in final_states])
        return output.transpose(0, 1) if self.batch_first else output, final_states

    def _batched_states(self, states: States | None) -> States | None:
        if states is None:
            return None
        for state in states:
            self._check_rank(state, 2, "unbatched")
        return tuple([state.unsqueeze(1) for state in states])

    def _run_packed(
        self, packed: PackedSequence, states: States | None
    ) -> tuple[PackedSequence, States]:
        self.check_input(packed.data, packed.batch_sizes)
        states = self.permute_hidden(states, packed.sorted_indices)
        x, lengths = to_padded(packed)
        output, final_states = self._run(x, states, lengths)
        data = gathered(output, packed.batch_sizes.numpy())
        return packed._with(data), self.permute_hidden(final_states, packed.unsorted_indices)

    def _run(
        self, x: Tensor, states: States | None, lengths: Tensor | None
    ) -> tuple[Tensor, States]:
        shapes = self._state_shapes(x.shape[1])
        if states is None:
            states = zero_states(x, shapes)
        else:
            self._check_states(states, shapes)
        probability = self.dropout if self.training else 0.0
        return run_layers(self.mode, x, states, self._weights(), probability, lengths)

    # --- checks, by the names that users find in PyTorch

    def check_input(self, input: Tensor, batch_sizes: Tensor | None = None) -> None:
        """See that an input has features of the right number.

        Args:
            input: the input, or the data of a packed batch.
            batch_sizes: the batch sizes of a packed batch.

        Raises:
            ValueError: a wrong number of dimensions.
            RuntimeError: another number of features, or of dimensions of a packed batch.
        """
        if batch_sizes is not None and input.ndim != 2:
            raise RuntimeError(f"input must have 2 dimensions, got {input.ndim}")
        if input.ndim not in (2, 3):
            raise ValueError(
                f"{self._get_name()}: Expected input to be 2D or 3D, got {input.ndim}D instead"
            )
        if input.shape[-1] != self.input_size:
            self._check_input_size(input.shape[-1])

    def _check_input_size(self, width: int) -> None:
        raise RuntimeError(
            f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {width}"
        )

    def _check_rank(self, state: Tensor, rank: int, kind: str) -> None:
        if state.ndim != rank:
            raise RuntimeError(
                f"For {kind} {rank}-D input, hx (and cx) should also be {rank}-D but got "
                f"{state.ndim}-D tensor"
            )

    def _check_states(self, states: States, shapes: list[tuple[int, ...]]) -> None:
        for number, (state, shape) in enumerate(zip(states, shapes, strict=True)):
            what = f"hidden[{number}]" if len(shapes) > 1 else "hidden"
            self.check_hidden_size(state, shape, f"Expected {what} size {{}}, got {{}}")

    def check_hidden_size(
        self,
        hx: Tensor,
        expected_hidden_size: tuple[int, ...],
        msg: str = "Expected hidden size {}, got {}",
    ) -> None:
        """See that a state has that shape.

        Raises:
            RuntimeError: it has another; `msg` is the message, with places for both.
        """
        if tuple(hx.shape) != tuple(expected_hidden_size):
            raise RuntimeError(msg.format(tuple(expected_hidden_size), list(hx.shape)))

    def _expected_shapes(self, input: Tensor, batch_sizes: Tensor | None) -> list[tuple[int, ...]]:
        if batch_sizes is not None:
            return self._state_shapes(int(batch_sizes[0]))
        return self._state_shapes(input.shape[0 if self.batch_first else 1])

    def get_expected_hidden_size(
        self, input: Tensor, batch_sizes: Tensor | None
    ) -> tuple[int, ...]:
        """Return the shape of the hidden states for an input, or for packed `batch_sizes`."""
        return self._expected_shapes(input, batch_sizes)[0]

    def check_forward_args(
        self, input: Tensor, hidden: Any, batch_sizes: Tensor | None = None
    ) -> None:
        """See that an input, or the data of a packed batch, and states fit this layer.

        Raises:
            ValueError: a wrong number of dimensions.
            RuntimeError: other sizes.
        """
        self.check_input(input, batch_sizes)
        self._check_states(self._as_tuple(hidden), self._expected_shapes(input, batch_sizes))

    def permute_hidden(self, hx: Any, permutation: Tensor | None) -> Any:
        """Return a state, or several, in another order of the batch; None: as they are."""
        if hx is None or permutation is None:
            return hx
        if isinstance(hx, tuple):
            return tuple([state.index_select(1, permutation) for state in hx])
        return hx.index_select(1, permutation)

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        repr_options = (
            ("proj_size", 0),
            ("num_layers", 1),
            ("bias", True),
            ("batch_first", False),
            ("dropout", 0),
            ("bidirectional", False),
        )
        for name, default in repr_options:
            value = getattr(self, name)
            if value != default:
                text += f", {name}={value}"
        return text
