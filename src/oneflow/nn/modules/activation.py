"""Activation functions as modules: smooth ones and rectifiers."""

from __future__ import annotations

from oneflow.base.device import Device
from oneflow.base.dtype import DType
from oneflow.functional.elementwise import activation as smooth
from oneflow.module.module import Module
from oneflow.module.parameter import new_parameter
from oneflow.nn import init
from oneflow.tensor.tensor import Tensor


class _Activation(Module):
    """A module without settings that applies one function."""

    def forward(self, input: Tensor) -> Tensor:
        return self._function(input)


class _InplaceActivation(Module):
    """A module that applies one function, in place or not."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return self._function(input, inplace=self.inplace)

    def extra_repr(self) -> str:
        return "inplace=True" if self.inplace else ""


class ReLU(_InplaceActivation):
    """``max(x, 0)``.

    Args:
        inplace: write the result into the input.

    Shape:
        input: ``(*)``, any shape.
        output: ``(*)``, as the input.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.ReLU()(flow.tensor([-1.0, 2.0]))
        tensor([0., 2.], dtype=oneflow.float32)
    """

    _function = staticmethod(smooth.relu)


class SELU(_InplaceActivation):
    """Self-normalising exponential linear unit.

    Args:
        inplace: write the result into the input.

    Shape:
        input: ``(*)``, any shape.
        output: ``(*)``, as the input.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.SELU()(flow.tensor([-1.0, 2.0]))
        tensor([-1.1113,  2.1014], dtype=oneflow.float32)
    """

    _function = staticmethod(smooth.selu)


class SiLU(_InplaceActivation):
    """``x * sigmoid(x)``.

    Args:
        inplace: write the result into the input.

    Shape:
        input: ``(*)``, any shape.
        output: ``(*)``, as the input.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.SiLU()(flow.tensor([1.0]))
        tensor([0.7311], dtype=oneflow.float32)
    """

    _function = staticmethod(smooth.silu)


class Mish(_InplaceActivation):
    """``x * tanh(softplus(x))``.

    Args:
        inplace: write the result into the input.

    Shape:
        input: ``(*)``, any shape.
        output: ``(*)``, as the input.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.Mish()(flow.tensor([1.0]))
        tensor([0.8651], dtype=oneflow.float32)
    """

    _function = staticmethod(smooth.mish)


class Sigmoid(_Activation):
    """``1 / (1 + exp(-x))``.

    Shape:
        input: ``(*)``, any shape.
        output: ``(*)``, as the input.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.Sigmoid()(flow.tensor([0.0]))
        tensor([0.5000], dtype=oneflow.float32)
    """

    _function = staticmethod(smooth.sigmoid)


class Tanh(_Activation):
    """Hyperbolic tangent.

    Shape:
        input: ``(*)``, any shape.
        output: ``(*)``, as the input.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.Tanh()(flow.tensor([0.0, 1.0]))
        tensor([0.0000, 0.7616], dtype=oneflow.float32)
    """

    _function = staticmethod(smooth.tanh)


class LogSigmoid(_Activation):
    """The logarithm of the sigmoid.

    Shape:
        input: ``(*)``, any shape.
        output: ``(*)``, as the input.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.LogSigmoid()(flow.tensor([0.0]))
        tensor([-0.6931], dtype=oneflow.float32)
    """

    _function = staticmethod(smooth.logsigmoid)


class Tanhshrink(_Activation):
    """``x - tanh(x)``.

    Shape:
        input: ``(*)``, any shape.
        output: ``(*)``, as the input.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.Tanhshrink()(flow.tensor([1.0]))
        tensor([0.2384], dtype=oneflow.float32)
    """

    _function = staticmethod(smooth.tanhshrink)


class QuickGELU(_Activation):
    """``x * sigmoid(1.702 * x)``.

    Shape:
        input: ``(*)``, any shape.
        output: ``(*)``, as the input.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.QuickGELU()(flow.tensor([1.0]))
        tensor([0.8458], dtype=oneflow.float32)
    """

    _function = staticmethod(smooth.quick_gelu)


class SquareReLU(_Activation):
    """``max(x, 0) ** 2``.

    Shape:
        input: ``(*)``, any shape.
        output: ``(*)``, as the input.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.SquareReLU()(flow.tensor([-1.0, 2.0]))
        tensor([0., 4.], dtype=oneflow.float32)
    """

    _function = staticmethod(smooth.square_relu)


class Softsign(Module):
    """``x / (1 + |x|)``.

    Args:
        inplace: accepted as in OneFlow; the result is a new tensor.

    Shape:
        input: ``(*)``, any shape.
        output: ``(*)``, as the input.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.Softsign()(flow.tensor([1.0]))
        tensor([0.5000], dtype=oneflow.float32)
    """

    inplace = False  # PyTorch's layer has no such flag

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return smooth.softsign(input)


class GELU(Module):
    """``x`` times the probability that a standard normal number is below it.

    Args:
        approximate: ``"none"``, or ``"tanh"`` for the approximation with the hyperbolic tangent.

    Shape:
        input: ``(*)``, any shape.
        output: ``(*)``, as the input.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.GELU()(flow.tensor([2.0]))
        tensor([1.9545], dtype=oneflow.float32)
    """

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        self.approximate = approximate

    def forward(self, input: Tensor) -> Tensor:
        return smooth.gelu(input, self.approximate)

    def extra_repr(self) -> str:
        return f"approximate={self.approximate!r}"


class ELU(Module):
    """``x`` where positive, else ``alpha * (exp(x) - 1)``.

    Args:
        alpha: the limit for very negative inputs, negated.
        inplace: write the result into the input.

    Shape:
        input: ``(*)``, any shape.
        output: ``(*)``, as the input.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.ELU()(flow.tensor([-1.0, 2.0]))
        tensor([-0.6321,  2.0000], dtype=oneflow.float32)
    """

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.alpha = alpha
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return smooth.elu(input, self.alpha, self.inplace)

    def extra_repr(self) -> str:
        settings = f"alpha={self.alpha}"
        return settings + (", inplace=True" if self.inplace else "")


class CELU(Module):
    """``x`` where positive, else ``alpha * (exp(x / alpha) - 1)``.

    Args:
        alpha: the limit for very negative inputs, negated.
        inplace: write the result into the input.

    Shape:
        input: ``(*)``, any shape.
        output: ``(*)``, as the input.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.CELU(0.5)(flow.tensor([-1.0, 2.0]))
        tensor([-0.4323,  2.0000], dtype=oneflow.float32)
    """

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.alpha = alpha
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return smooth.celu(input, self.alpha, self.inplace)

    def extra_repr(self) -> str:
        settings = f"alpha={self.alpha}"
        return settings + (", inplace=True" if self.inplace else "")


class LeakyReLU(Module):
    """``x`` where positive, else ``negative_slope * x``.

    Args:
        negative_slope: factor of negative inputs.
        inplace: write the result into the input.

    Shape:
        input: ``(*)``, any shape.
        output: ``(*)``, as the input.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.LeakyReLU(0.1)(flow.tensor([-1.0, 2.0]))
        tensor([-0.1000,  2.0000], dtype=oneflow.float32)
    """

    def __init__(self, negative_slope: float = 0.01, inplace: bool = False) -> None:
        super().__init__()
        self.negative_slope = negative_slope
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return smooth.leaky_relu(input, self.negative_slope, self.inplace)

    def extra_repr(self) -> str:
        settings = f"negative_slope={self.negative_slope}"
        return settings + (", inplace=True" if self.inplace else "")


class RReLU(Module):
    """Leaky ReLU with a random slope in training and the mean slope in evaluation.

    Args:
        lower: smallest slope.
        upper: largest slope.
        inplace: write the result into the input.

    Shape:
        input: ``(*)``, any shape.
        output: ``(*)``, as the input.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.RReLU(0.25, 0.25)(flow.tensor([-1.0, 2.0]))
        tensor([-0.2500,  2.0000], dtype=oneflow.float32)
    """

    def __init__(
        self, lower: float = 1.0 / 8, upper: float = 1.0 / 3, inplace: bool = False
    ) -> None:
        super().__init__()
        self.lower = lower
        self.upper = upper
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return smooth.rrelu(input, self.lower, self.upper, self.training, self.inplace)

    def extra_repr(self) -> str:
        return f"lower={self.lower}, upper={self.upper}" + (
            ", inplace=True" if self.inplace else ""
        )


class Softplus(Module):
    """``log(1 + exp(beta * x)) / beta``, and `x` itself where ``beta * x > threshold``.

    Args:
        beta: steepness.
        threshold: from here on the function is linear.

    Shape:
        input: ``(*)``, any shape.
        output: ``(*)``, as the input.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.Softplus()(flow.tensor([0.0]))
        tensor([0.6931], dtype=oneflow.float32)
    """

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        super().__init__()
        self.beta = beta
        self.threshold = threshold

    def forward(self, input: Tensor) -> Tensor:
        return smooth.softplus(input, self.beta, self.threshold)

    def extra_repr(self) -> str:
        return f"beta={self.beta}, threshold={self.threshold}"


class PReLU(Module):
    """Leaky ReLU with learnable slopes.

    Args:
        num_parameters: number of slopes: 1, or the number of channels (dimension 1).
        init: their initial value.
        device: where they live.
        dtype: the dtype of the slopes.

    Attributes:
        weight: the slopes, ``(num_parameters,)``, at first ``init`` each.

    Shape:
        input: ``(N, C, *)`` with ``C`` channels, or ``(*)`` for one slope.
        output: the shape of the input.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.PReLU()(flow.tensor([-1.0, 2.0])).tolist()
        [-0.25, 2.0]
    """

    def __init__(
        self,
        num_parameters: int = 1,
        init: float = 0.25,
        device: Device | str | None = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        self.num_parameters = num_parameters
        self.init = init
        self.weight = new_parameter((num_parameters,), dtype, device)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set all slopes to `init`."""
        init.constant_(self.weight, self.init)

    def forward(self, input: Tensor) -> Tensor:
        return smooth.prelu(input, self.weight)

    def extra_repr(self) -> str:
        return f"num_parameters={self.num_parameters}"
