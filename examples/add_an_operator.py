"""A new operator in one short file: the swish activation with a slope, x * sigmoid(slope * x)."""

import argparse
import sys

import jax

import oneflow as flow
from oneflow.primitives.operators.elementwise import add, mul, sigmoid, sub
from oneflow.primitives.registry import primitive
from oneflow.tensor import Tensor, call

swish_primitive = primitive(
    "sloped_swish", lambda x, slope: x * jax.nn.sigmoid(slope * x), elementwise=True
)


def _swish_gradient(g, x, slope, out):
    # d/dx x s(ax) = s(ax) + a x s(ax) (1 - s(ax)), with x s(ax) = out.
    gate = sigmoid(mul(x, slope))
    return mul(g, add(gate, mul(mul(out, slope), sub(1.0, gate))))


swish_primitive.gradient(x=_swish_gradient)


def swish(x: Tensor, slope: float = 1.0) -> Tensor:
    """The swish of every element.

    `slope` may change from call to call without compiling anything.
    """
    return call(swish_primitive, x, slope)


def main() -> None:
    """Print the function and its derivative at a few points."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--slope", type=float, default=1.5, help="of the sigmoid (default: 1.5)")
    options = parser.parse_args()
    x = flow.tensor([-1.0, 0.0, 2.0], requires_grad=True)
    y = swish(x, options.slope)
    y.sum().backward()
    print(f"swish of {x.tolist()}: {y.numpy()}\nits derivative: {x.grad.numpy()}")


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("stopped")
