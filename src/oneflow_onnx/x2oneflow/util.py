"""Checks of a whole import: build a module of a framework, import it, compare what both compute."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import oneflow as flow
from oneflow_onnx.x2oneflow.frameworks import framework
from oneflow_onnx.x2oneflow.module import ImportedModule
from oneflow_onnx.x2oneflow.onnx2flow import from_paddle, from_pytorch, from_tensorflow2
from oneflow_onnx.x2oneflow.values import as_host

_LOGGER = logging.getLogger(__name__)
_INPUT_SIZE = (2, 4, 3, 5)

# The largest difference that is taken for rounding, in units of the outputs' spread.
_TOLERANCE = 1e-3


def load_pytorch_module_and_check(
    pt_module_class: Callable[[], Any],
    input_size: Sequence[int] | None = None,
    input_min_val: float = 0.0,
    input_max_val: float = 1.0,
    train_flag: bool = False,
    flow_weight_dir: str | Path | None = None,
) -> float:
    """Import a PyTorch module and compare its first output with PyTorch's.

    Args:
        pt_module_class: makes the module.
        input_size: shape of the input, (2, 4, 3, 5) by default.
        input_min_val: inputs are uniform between this,
        input_max_val: and this.
        train_flag: compare in training mode.
        flow_weight_dir: also save the weights there.

    Returns:
        The largest difference in units of the standard deviation of PyTorch's output.

    Raises:
        AssertionError: it is more than rounding explains.
    """
    x = _random_input(input_size, input_min_val, input_max_val)
    network = pt_module_class()
    module = from_pytorch(network, x, flow_weight_dir, train_flag)
    torch = framework("torch", "load_pytorch_module_and_check")
    with torch.no_grad():
        expected = _first(network.train(train_flag)(torch.from_numpy(x)))
    return _difference(module, x, expected.numpy())


def load_tensorflow2_module_and_check(
    tf_module_class: Callable[[], Any],
    input_size: Sequence[int] | None = None,
    input_min_val: float = 0.0,
    input_max_val: float = 1.0,
    train_flag: bool = False,
    flow_weight_dir: str | Path | None = None,
) -> float:
    """Import a Keras model and compare its first output with TensorFlow's.

    Arguments, result and error as of `load_pytorch_module_and_check`.
    """
    x = _random_input(input_size, input_min_val, input_max_val)
    network = tf_module_class()
    module = from_tensorflow2(network, x, flow_weight_dir, train_flag)
    return _difference(module, x, np.asarray(_first(network(x, training=train_flag))))


def load_paddle_module_and_check(
    pd_module_class: Callable[[], Any],
    input_size: Sequence[int] | None = None,
    input_min_val: float = 0.0,
    input_max_val: float = 1.0,
    train_flag: bool = False,
    flow_weight_dir: str | Path | None = None,
) -> float:
    """Import a Paddle layer and compare its first output with Paddle's.

    Arguments, result and error as of `load_pytorch_module_and_check`.
    """
    x = _random_input(input_size, input_min_val, input_max_val)
    network = pd_module_class()
    module = from_paddle(network, x, flow_weight_dir, train_flag)
    paddle = framework("paddle", "load_paddle_module_and_check")
    if train_flag:
        network.train()
    return _difference(module, x, _first(network(paddle.to_tensor(x))).numpy())


def _random_input(size: Sequence[int] | None, low: float, high: float) -> np.ndarray:
    return np.random.uniform(low, high, tuple(size or _INPUT_SIZE)).astype(np.float32)


def _first(value: Any) -> Any:
    return value[0] if isinstance(value, list | tuple) else value


def _difference(module: ImportedModule, x: np.ndarray, expected: np.ndarray) -> float:
    output = as_host(_first(module(flow.tensor(x))))
    deviation = max(float(expected.std()), float(np.finfo(np.float32).tiny))
    difference = float(np.abs(output - expected).max()) / deviation
    _LOGGER.info("largest difference: %.2g of the outputs' spread", difference)
    if difference > _TOLERANCE:
        raise AssertionError(f"outputs differ by {difference:.2g} of their spread")
    return difference
