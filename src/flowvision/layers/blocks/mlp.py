"""Perceptrons with one hidden layer."""

from __future__ import annotations

from collections.abc import Callable

from oneflow import Tensor, nn

MakeModule = Callable[[], nn.Module]


class Mlp(nn.Module):
    """A linear map, an activation, and another linear map.

    Input (..., in_features), output (..., out_features).

    Args:
        in_features: the length of an input vector.
        hidden_features: the number of features of a vector in between; default `in_features`.
        out_features: the number of features of an output vector; default `in_features`.
        act_layer: makes the activation.
        drop: the probability with which a feature is dropped, after each of the two maps.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.layers import Mlp
        >>> Mlp(8, 32)(flow.randn(2, 5, 8)).shape
        oneflow.Size([2, 5, 8])
    """

    def __init__(
        self,
        in_features: int,
        hidden_features: int | None = None,
        out_features: int | None = None,
        act_layer: MakeModule = nn.GELU,
        drop: float = 0.0,
    ) -> None:
        super().__init__()
        hidden_features = hidden_features or in_features
        self.fc1 = nn.Linear(in_features, hidden_features)
        self.act = act_layer()
        self.fc2 = nn.Linear(hidden_features, out_features or in_features)
        self.drop = nn.Dropout(drop)

    def forward(self, x: Tensor) -> Tensor:
        return self.drop(self.fc2(self.drop(self.act(self.fc1(x)))))


class GluMlp(nn.Module):
    """A perceptron with a gated linear unit: one half of the hidden vector gates the other.

    Source: https://arxiv.org/abs/2002.05202. Input (..., in_features), output (..., out_features).

    Args:
        in_features: the length of an input vector.
        hidden_features: the number of features of both halves together, an even number; default
            `in_features`.
        out_features: the number of features of an output vector; default `in_features`.
        act_layer: makes the activation of the gates.
        drop: the probability with which a feature is dropped, after each of the two maps.

    Raises:
        ValueError: if `hidden_features` is odd.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.layers import GluMlp
        >>> GluMlp(8, 32)(flow.randn(2, 5, 8)).shape
        oneflow.Size([2, 5, 8])
    """

    def __init__(
        self,
        in_features: int,
        hidden_features: int | None = None,
        out_features: int | None = None,
        act_layer: MakeModule = nn.Sigmoid,
        drop: float = 0.0,
    ) -> None:
        super().__init__()
        hidden_features = hidden_features or in_features
        if hidden_features % 2:
            raise ValueError(f"`hidden_features` must be even, not {hidden_features}")
        self.fc1 = nn.Linear(in_features, hidden_features)
        self.act = act_layer()
        self.fc2 = nn.Linear(hidden_features // 2, out_features or in_features)
        self.drop = nn.Dropout(drop)

    def init_weights(self) -> None:
        """Open the gates: their biases become 1 and their weights almost 0."""
        gate = self.fc1.weight.shape[0] // 2
        assert self.fc1.bias is not None
        nn.init.ones_(self.fc1.bias[gate:])
        nn.init.normal_(self.fc1.weight[gate:], std=1e-6)

    def forward(self, x: Tensor) -> Tensor:
        x, gate = self.fc1(x).chunk(2, dim=-1)
        return self.drop(self.fc2(self.drop(x * self.act(gate))))


class GatedMlp(nn.Module):
    """A perceptron whose hidden vectors pass a gate that halves them, as in gMLP.

    Source: https://arxiv.org/abs/2105.08050. Input (..., in_features), output (..., out_features).

    Args:
        in_features: the length of an input vector.
        hidden_features: the number of features of a vector in between; default `in_features`.
        out_features: the number of features of an output vector; default `in_features`.
        act_layer: makes the activation.
        gate_layer: makes the gate from `hidden_features`; by default there is none.
        drop: the probability with which a feature is dropped, after each of the two maps.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models import GatedMlp
        >>> GatedMlp(8, 32)(flow.rand(2, 5, 8)).shape
        oneflow.Size([2, 5, 8])
    """

    def __init__(
        self,
        in_features: int,
        hidden_features: int | None = None,
        out_features: int | None = None,
        act_layer: MakeModule = nn.GELU,
        gate_layer: Callable[[int], nn.Module] | None = None,
        drop: float = 0.0,
    ) -> None:
        super().__init__()
        hidden_features = hidden_features or in_features
        self.fc1 = nn.Linear(in_features, hidden_features)
        self.act = act_layer()
        self.gate = gate_layer(hidden_features) if gate_layer else nn.Identity()
        gated_features = hidden_features // 2 if gate_layer else hidden_features
        self.fc2 = nn.Linear(gated_features, out_features or in_features)
        self.drop = nn.Dropout(drop)

    def forward(self, x: Tensor) -> Tensor:
        x = self.gate(self.drop(self.act(self.fc1(x))))
        return self.drop(self.fc2(x))


class ConvMlp(nn.Module):
    """A perceptron at each position of a feature map: two 1 x 1 convolutions.

    Input (N, in_features, H, W), output (N, out_features, H, W).

    Args:
        in_features: the number of channels of the input.
        hidden_features: the number of features in between; default `in_features`.
        out_features: the number of features of the output; default `in_features`.
        act_layer: makes the activation.
        norm_layer: makes the normalisation before the activation from `hidden_features`; by default
            there is none.
        drop: the probability with which a feature is dropped before the second convolution.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.layers import ConvMlp
        >>> ConvMlp(8, 32)(flow.randn(2, 8, 5, 5)).shape
        oneflow.Size([2, 8, 5, 5])
    """

    def __init__(
        self,
        in_features: int,
        hidden_features: int | None = None,
        out_features: int | None = None,
        act_layer: MakeModule = nn.ReLU,
        norm_layer: Callable[[int], nn.Module] | None = None,
        drop: float = 0.0,
    ) -> None:
        super().__init__()
        hidden_features = hidden_features or in_features
        self.fc1 = nn.Conv2d(in_features, hidden_features, 1)
        self.norm = norm_layer(hidden_features) if norm_layer else nn.Identity()
        self.act = act_layer()
        self.drop = nn.Dropout(drop)
        self.fc2 = nn.Conv2d(hidden_features, out_features or in_features, 1)

    def forward(self, x: Tensor) -> Tensor:
        return self.fc2(self.drop(self.act(self.norm(self.fc1(x)))))
