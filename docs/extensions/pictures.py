"""The pictures of the reference, on pages where one says more than words.

They are computed when the reference is written, by the functions that the pages are about. Each
takes the library to compute with, so that another one with the same interface can be compared.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from drawing import Curves, Matrices, Picture
from signatures_of import signatures_of

import oneflow as flow

Maker = Callable[..., Picture]

# Figures of the guides that show what these names are, by `tools/make_figures.py`.
FIGURES = {
    "oneflow.Tensor.to_global": "boxing.svg",
    "oneflow.sbp.broadcast": "sbp.svg",
    "oneflow.sbp.partial_sum": "sbp.svg",
    "oneflow.sbp.split": "sbp.svg",
}
# Functions of one number, with the layers that apply them.
ACTIVATIONS = {
    "celu": "CELU",
    "elu": "ELU",
    "gelu": "GELU",
    "hardshrink": "Hardshrink",
    "hardsigmoid": "Hardsigmoid",
    "hardswish": "Hardswish",
    "hardtanh": "Hardtanh",
    "leaky_relu": "LeakyReLU",
    "logsigmoid": "LogSigmoid",
    "mish": "Mish",
    "quick_gelu": "QuickGELU",
    "relu": "ReLU",
    "relu6": "ReLU6",
    "selu": "SELU",
    "sigmoid": "Sigmoid",
    "silu": "SiLU",
    "softplus": "Softplus",
    "softshrink": "Softshrink",
    "softsign": "Softsign",
    "square_relu": "SquareReLU",
    "tanh": "Tanh",
    "tanhshrink": "Tanhshrink",
}
# Functions of one number, and between which numbers they are shown.
FUNCTIONS: dict[str, tuple[float, float]] = {
    "abs": (-3, 3),
    "acos": (-0.99, 0.99),
    "asin": (-0.99, 0.99),
    "asinh": (-5, 5),
    "atan": (-5, 5),
    "atanh": (-0.99, 0.99),
    "ceil": (-2.95, 2.95),
    "cos": (-6.3, 6.3),
    "cosh": (-3, 3),
    "erf": (-3, 3),
    "erfc": (-3, 3),
    "exp": (-3, 2),
    "expm1": (-3, 2),
    "floor": (-2.95, 2.95),
    "frac": (-2.95, 2.95),
    "lgamma": (0.1, 5),
    "log": (0.1, 5),
    "log1p": (-0.9, 4),
    "reciprocal": (0.2, 4),
    "round": (-2.95, 2.95),
    "rsqrt": (0.1, 4),
    "sign": (-2.95, 2.95),
    "sin": (-6.3, 6.3),
    "sinc": (-4, 4),
    "sinh": (-3, 3),
    "sqrt": (0.01, 4),
    "square": (-3, 3),
    "trunc": (-2.95, 2.95),
}
# Losses of a prediction, with the layer, the targets that they are shown for, and more arguments.
LOSSES: dict[str, tuple[str, tuple[float, ...], dict[str, Any]]] = {
    "binary_cross_entropy": ("BCELoss", (0.0, 0.5, 1.0), {}),
    "binary_cross_entropy_with_logits": ("BCEWithLogitsLoss", (0.0, 0.5, 1.0), {}),
    "hinge_embedding_loss": ("HingeEmbeddingLoss", (-1.0, 1.0), {}),
    "huber_loss": ("HuberLoss", (0.0,), {}),
    "l1_loss": ("L1Loss", (0.0,), {}),
    "mse_loss": ("MSELoss", (0.0,), {}),
    "poisson_nll_loss": ("PoissonNLLLoss", (0.0, 1.0, 3.0), {}),
    "smooth_l1_loss": ("SmoothL1Loss", (0.0,), {}),
    "soft_margin_loss": ("SoftMarginLoss", (-1.0, 1.0), {}),
}
# Layers and functions of an image of the numbers from 1 on.
PADDINGS = {
    "CircularPad2d": "circular",
    "ReflectionPad2d": "reflect",
    "ReplicationPad2d": "replicate",
    "ZeroPad2d": "constant",
}
POOLINGS: dict[str, tuple[str, dict[str, Any]]] = {
    "AdaptiveAvgPool2d": ("adaptive_avg_pool2d", {"output_size": 4}),
    "AdaptiveMaxPool2d": ("adaptive_max_pool2d", {"output_size": 4}),
    "AvgPool2d": ("avg_pool2d", {"kernel_size": 2}),
    "LPPool2d": ("lp_pool2d", {"norm_type": 2, "kernel_size": 3}),
    "MaxPool2d": ("max_pool2d", {"kernel_size": 3, "stride": 1}),
}
ENLARGEMENTS: dict[str, dict[str, Any]] = {
    "nearest": {},
    "bilinear": {"align_corners": False},
    "bicubic": {"align_corners": False},
}
GEOMETRIES: dict[str, dict[str, int]] = {
    "padding=1": {"padding": 1},
    "stride=2": {"stride": 2},
    "dilation=2": {"dilation": 2, "padding": 2},
}
# Changes of a matrix, each with its arguments.
REARRANGEMENTS: dict[str, tuple[Any, ...]] = {
    "flip": ([1],),
    "fliplr": (),
    "flipud": (),
    "roll": (1, 1),
    "rot90": (),
    "t": (),
    "tril": (),
    "triu": (),
}
# Operators on two devices: the call, and the shapes of its operands.
OPERATORS: dict[str, tuple[Callable[..., Any], tuple[tuple[int, ...], ...]]] = {
    "oneflow.add": (lambda t, x, y: t.add(x, y), ((4, 4), (4, 4))),
    "oneflow.bmm": (lambda t, x, y: t.bmm(x, y), ((2, 4, 4), (2, 4, 4))),
    "oneflow.cat": (lambda t, x, y: t.cat([x, y], 1), ((4, 4), (4, 4))),
    "oneflow.matmul": (lambda t, x, y: t.matmul(x, y), ((4, 4), (4, 6))),
    "oneflow.mul": (lambda t, x, y: t.mul(x, y), ((4, 4), (4, 4))),
    "oneflow.nn.functional.linear": (
        lambda t, x, y: t.nn.functional.linear(x, y),
        ((4, 4), (6, 4)),
    ),
    "oneflow.softmax": (lambda t, x: t.softmax(x, 1), ((4, 4),)),
    "oneflow.sum": (lambda t, x: t.sum(x, 0), ((4, 4),)),
    "oneflow.transpose": (lambda t, x: t.transpose(x, 0, 1), ((4, 6),)),
}
# Settings that show a schedule within a hundred steps.
SCHEDULES: dict[str, dict[str, Any]] = {
    "ConstantLR": {"factor": 0.3, "total_iters": 40},
    "CosineAnnealingLR": {"T_max": 50},
    "CosineAnnealingWarmRestarts": {"T_0": 15, "T_mult": 2},
    "CosineDecayLR": {"decay_steps": 80, "alpha": 0.1},
    "CyclicLR": {"base_lr": 0.1, "max_lr": 1.0, "step_size_up": 20, "cycle_momentum": False},
    "ExponentialLR": {"gamma": 0.96},
    "LinearLR": {"start_factor": 0.1, "total_iters": 60},
    "MultiStepLR": {"milestones": [30, 60, 80], "gamma": 0.4},
    "OneCycleLR": {"max_lr": 1.0, "total_steps": 100, "cycle_momentum": False},
    "PolynomialLR": {"decay_batch": 80, "power": 2.0},
    "StepLR": {"step_size": 25, "gamma": 0.5},
    "WarmupLR": {"warmup_factor": 0.1, "warmup_iters": 30},
}
WINDOWS: dict[str, dict[str, Any]] = {
    "bartlett": {},
    "blackman": {},
    "cosine": {},
    "exponential": {"tau": 12.0},
    "gaussian": {"std": 10.0},
    "hamming": {},
    "hann": {},
    "kaiser": {"beta": 8.0},
    "nuttall": {},
}
# Parameters of densities, and between which numbers they are shown.
DENSITIES: dict[str, tuple[tuple[float, float], tuple[tuple[float, ...], ...]]] = {
    "Beta": ((0.01, 0.99), ((2.0, 2.0), (0.5, 0.5), (2.0, 5.0))),
    "Cauchy": ((-5.0, 5.0), ((0.0, 0.5), (0.0, 1.0), (-2.0, 1.0))),
    "Exponential": ((0.0, 4.0), ((0.5,), (1.0,), (2.0,))),
    "Gamma": ((0.01, 8.0), ((1.0, 1.0), (2.0, 1.0), (5.0, 1.0))),
    "Gumbel": ((-3.0, 8.0), ((0.0, 1.0), (1.0, 2.0))),
    "HalfNormal": ((0.0, 4.0), ((0.5,), (1.0,))),
    "Laplace": ((-5.0, 5.0), ((0.0, 0.5), (0.0, 1.0), (-2.0, 1.0))),
    "LogNormal": ((0.01, 5.0), ((0.0, 0.5), (0.0, 1.0))),
    "Normal": ((-5.0, 5.0), ((0.0, 0.5), (0.0, 1.0), (-2.0, 1.0))),
    "StudentT": ((-5.0, 5.0), ((1.0,), (5.0,))),
    "VonMises": ((-3.14, 3.14), ((0.0, 1.0), (0.0, 4.0))),
    "Weibull": ((0.01, 3.0), ((1.0, 1.0), (1.0, 2.0), (1.0, 5.0))),
}


def _places(low: float, high: float, library: Any) -> Any:
    return library.tensor(np.linspace(low, high, 161, dtype=np.float32))


def _slopes(
    function: Callable[[Any], Any], low: float, high: float, library: Any, axis: str = "input"
) -> Curves:
    """A function of one number, with its derivative."""
    x = _places(low, high, library).requires_grad_()
    value = function(x)
    (slope,) = library.autograd.grad(value.sum(), x)
    curves = {"value": value.detach().numpy(), "derivative": slope.numpy()}
    return Curves(x.detach().numpy(), curves, axis)


def _activation(name: str, library: Any = flow) -> Picture:
    return _slopes(getattr(library.nn.functional, name), -4, 4, library)


def _activation_layer(name: str, library: Any = flow) -> Picture:
    return _slopes(getattr(library.nn, name)(), -4, 4, library)


def _function(name: str, library: Any = flow) -> Picture:
    return _slopes(getattr(library, name), *FUNCTIONS[name], library)


def _loss(name: str, library: Any = flow) -> Picture:
    """A loss over the prediction, with the derivative if there is but one target."""
    _, targets, options = LOSSES[name]
    loss = functools.partial(getattr(library.nn.functional, name), reduction="none", **options)
    low, high = (0.01, 0.99) if name == "binary_cross_entropy" else (-3.0, 3.0)
    pictures = {
        target: _slopes(
            lambda x, target=target: loss(x, library.full_like(x, target).detach()),
            low,
            high,
            library,
            "prediction" + ("" if len(targets) > 1 else f", for the target {targets[0]}"),
        )
        for target in targets
    }
    first = next(iter(pictures.values()))
    if len(targets) == 1:
        return first
    values = {f"target {target}": made.values["value"] for target, made in pictures.items()}
    return Curves(first.x, values, first.axis)


def _softmax(name: str, library: Any = flow) -> Picture:
    """The results for three numbers of which one moves."""
    x = _places(-4, 4, library)
    given = library.stack([x, library.zeros(161), library.ones(161)])
    labels = ("of x", "of 0", "of 1")
    results = getattr(library.nn.functional, name)(given, 0).numpy()
    return Curves(x.numpy(), dict(zip(labels, results, strict=True)), "x among x, 0, 1")


def _schedule(name: str, library: Any = flow) -> Picture:
    """The rates of a hundred steps of an optimizer whose own rate is 1."""
    optimizer = library.optim.SGD([library.nn.Parameter(library.ones(1))], lr=1.0)
    schedule = getattr(library.optim.lr_scheduler, name)(optimizer, **SCHEDULES[name])
    rates = []
    for _ in range(100):
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        schedule.step()
    settings = ", ".join(f"{key}={value}" for key, value in SCHEDULES[name].items())
    return Curves(np.arange(100.0), {"": np.array(rates)}, f"step\n{settings}")


def _window(name: str, library: Any = flow) -> Picture:
    values = getattr(library.signal.windows, name)(65, **WINDOWS[name])
    settings = "".join(f", {key}={value}" for key, value in WINDOWS[name].items())
    return Curves(np.arange(65.0), {"": values.numpy()}, f"sample{settings}")


def _density(name: str, library: Any = flow) -> Picture:
    (low, high), parameters = DENSITIES[name]
    x, kind = _places(low, high, library), getattr(library.distributions, name)
    curves = {str(numbers): kind(*numbers).log_prob(x).exp().numpy() for numbers in parameters}
    return Curves(x.numpy(), curves, "value")


def _attention(library: Any = flow) -> Picture:
    """The weights of eight keys for eight queries: attention to unit vectors."""
    places = library.linspace(0, 3, 32).reshape(1, 8, 4)
    queries, keys, unit = places.sin(), places.cos(), library.eye(8)[None]
    near = (library.arange(8)[:, None] - library.arange(8)).abs() < 2
    arguments: dict[str, dict[str, Any]] = {
        "all keys": {},
        "is_causal=True": {"is_causal": True},
        "attn_mask": {"attn_mask": near},
    }
    attend = library.nn.functional.scaled_dot_product_attention
    values = {
        title: attend(queries, keys, unit, **masks)[0].numpy() for title, masks in arguments.items()
    }
    return Matrices(values, ("key", "query"))


def _square(size: int, library: Any) -> Any:
    """An image of the numbers from 1 on."""
    return library.arange(1.0, size * size + 1).reshape(1, 1, size, size)


def _images(library: Any, size: int, results: dict[str, Callable[[Any], Any]]) -> Picture:
    """An image, and the results of functions beside it."""
    image = _square(size, library)
    values = {title: function(image)[0, 0].numpy() for title, function in results.items()}
    return Matrices({"input": image[0, 0].numpy(), **values})


def _paddings(library: Any = flow) -> Picture:
    pad = library.nn.functional.pad
    functions = {
        mode: functools.partial(pad, pad=(2, 2, 2, 2), mode=mode) for mode in PADDINGS.values()
    }
    return _images(library, 4, functions)


def _padding_layer(name: str, library: Any = flow) -> Picture:
    return _images(library, 4, {name: getattr(library.nn, name)(2)})


def _pooling(name: str, library: Any = flow) -> Picture:
    function, options = POOLINGS[name]
    settings = ", ".join(f"{key}={value}" for key, value in options.items())
    pool = functools.partial(getattr(library.nn.functional, function), **options)
    return _images(library, 6, {settings: pool})


def _pooling_layer(name: str, library: Any = flow) -> Picture:
    _, options = POOLINGS[name]
    settings = ", ".join(f"{key}={value}" for key, value in options.items())
    return _images(library, 6, {settings: getattr(library.nn, name)(**options)})


def _enlargement(library: Any = flow) -> Picture:
    interpolate = library.nn.functional.interpolate
    functions = {
        mode: functools.partial(interpolate, scale_factor=4, mode=mode, **options)
        for mode, options in ENLARGEMENTS.items()
    }
    return _images(library, 4, functions)


def _convolution(name: str, library: Any = flow) -> Picture:
    """The gradient by an image of 7x7: in how many results of a 3x3 kernel each number counts."""
    kernel = library.ones(1, 1, 3, 3)
    values = {}
    for title, options in GEOMETRIES.items():
        image = library.ones(1, 1, 7, 7).requires_grad_()
        getattr(library.nn.functional, name)(image, kernel, **options).sum().backward()
        values[title] = image.grad[0, 0].numpy()
    return Matrices(values)


def _transposed_convolution(library: Any = flow) -> Picture:
    """The results of a 3x3 kernel of ones on an image of 4x4 ones."""
    image, kernel = library.ones(1, 1, 4, 4), library.ones(1, 1, 3, 3)
    values = {
        title: library.nn.functional.conv_transpose2d(image, kernel, **options)[0, 0].numpy()
        for title, options in GEOMETRIES.items()
    }
    return Matrices(values)


def _rearrangement(name: str, library: Any = flow) -> Picture:
    matrix = _square(5, library)[0, 0]
    result = getattr(library, name)(matrix, *REARRANGEMENTS[name])
    arguments = ", ".join(map(repr, ("x", *REARRANGEMENTS[name]))).replace("'", "")
    return Matrices({"x": matrix.numpy(), f"{name}({arguments})": result.numpy()})


def _signatures(path: str, library: Any = flow) -> Picture:
    call, shapes = OPERATORS[path]
    return signatures_of(functools.partial(call, library), shapes)


@functools.cache
def pictures() -> dict[str, Maker]:
    """Return how the pictures are computed, by the paths of the names that they belong to."""
    nn, functional = "oneflow.nn", "oneflow.nn.functional"
    made: dict[str, Maker] = {
        f"{functional}.scaled_dot_product_attention": _attention,
        f"{functional}.pad": _paddings,
        f"{functional}.interpolate": _enlargement,
        f"{nn}.Upsample": _enlargement,
        f"{functional}.conv_transpose2d": _transposed_convolution,
        f"{nn}.ConvTranspose2d": _transposed_convolution,
    }
    for name in ("softmax", "softmin", "log_softmax"):
        made[f"{functional}.{name}"] = functools.partial(_softmax, name)
    for name in (f"{functional}.conv2d", f"{nn}.Conv2d"):
        made[name] = functools.partial(_convolution, "conv2d")
    for function, layer in ACTIVATIONS.items():
        made[f"{functional}.{function}"] = functools.partial(_activation, function)
        made[f"{nn}.{layer}"] = functools.partial(_activation_layer, layer)
    for function, (layer, _, _) in LOSSES.items():
        for path in (f"{functional}.{function}", f"{nn}.{layer}"):
            made[path] = functools.partial(_loss, function)
    for layer, (function, _) in POOLINGS.items():
        made[f"{functional}.{function}"] = functools.partial(_pooling, layer)
        made[f"{nn}.{layer}"] = functools.partial(_pooling_layer, layer)
    for layer in PADDINGS:
        made[f"{nn}.{layer}"] = functools.partial(_padding_layer, layer)
    tables: dict[str, tuple[Maker, Any]] = {
        "oneflow": (_function, FUNCTIONS),
        "oneflow.optim.lr_scheduler": (_schedule, SCHEDULES),
        "oneflow.signal.windows": (_window, WINDOWS),
        "oneflow.distributions": (_density, DENSITIES),
    }
    for module, (maker, names) in tables.items():
        made.update({f"{module}.{name}": functools.partial(maker, name) for name in names})
    for name in REARRANGEMENTS:
        made[f"oneflow.{name}"] = functools.partial(_rearrangement, name)
    made.update({path: functools.partial(_signatures, path) for path in OPERATORS})
    return made
