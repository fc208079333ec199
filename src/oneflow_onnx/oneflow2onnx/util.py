"""The functions that users of oneflow_onnx know: export, run and compare."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import oneflow as flow
from oneflow.base.extras import extra
from oneflow.graph.graph import Graph
from oneflow.graph.pytree import tree_flatten
from oneflow.legacy.job import JobFunction
from oneflow.tensor.tensor import Tensor
from oneflow_onnx.oneflow2onnx.capturing import compiled_arguments
from oneflow_onnx.oneflow2onnx.exporting import DEFAULT_OPSET
from oneflow_onnx.oneflow2onnx.flow2onnx import Export
from oneflow_onnx.oneflow2onnx.schemas import latest_opset

with extra("onnx", "running an exported model"):
    import onnxruntime

_PROVIDERS = {"cpu": "CPUExecutionProvider", "gpu": "CUDAExecutionProvider"}
_TYPES = {
    "tensor(float)": np.float32,
    "tensor(double)": np.float64,
    "tensor(float16)": np.float16,
    "tensor(int64)": np.int64,
    "tensor(int32)": np.int32,
    "tensor(bool)": np.bool_,
}


def export_onnx_model(
    graph: Any,
    external_data: bool = False,
    opset: int | None = None,
    flow_weight_dir: str | os.PathLike[str] | None = None,
    onnx_model_path: str | os.PathLike[str] = "/tmp",
    dynamic_batch_size: bool = False,
) -> tuple[str, Callable[[], None]]:
    """Export a graph that was called before.

    Args:
        graph: an `nn.Graph`.
        external_data: store weights in a file of their own.
        opset: the opset; None: 10, or the lowest that can express the graph.
        flow_weight_dir: a folder with weights from ``flow.save(graph.state_dict(), folder)``.
        onnx_model_path: the file, or a folder, in which it is called ``model.onnx``.
        dynamic_batch_size: dimension 0 of the first input is symbolic.

    Returns:
        The path of the file, and a function that removes it.

    Raises:
        UnsupportedOperatorsError: operators that ONNX cannot express; lists all of them.
        RuntimeError: the graph was never called.

    Example:
        >>> import oneflow as flow
        >>> import tempfile
        >>> from oneflow_onnx.oneflow2onnx.util import export_onnx_model
        >>> class Double(flow.nn.Graph):
        ...     def build(self, x):
        ...         return 2 * x
        >>> graph = Double()
        >>> result = graph(flow.ones(2))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path, remove = export_onnx_model(graph, onnx_model_path=folder)
        ...     print(path.endswith("model.onnx"))
        True
    """
    path = Path(onnx_model_path)
    path = path / "model.onnx" if path.is_dir() else path
    Export(
        graph,
        flow_weight_dir,
        path,
        opset=opset,
        external_data=external_data,
        dynamic_batch_size=dynamic_batch_size,
    )

    def cleanup() -> None:
        for file in [path, *path.parent.glob(f"{path.name}.*.data")]:
            file.unlink(missing_ok=True)

    return str(path), cleanup


def FindOpset(opset: int | None) -> int:
    """Return the opset that an export begins with: `opset`, or 10.

    A warning says so if the installed onnx does not know it yet.

    Example:
        >>> from oneflow_onnx.oneflow2onnx.util import FindOpset
        >>> FindOpset(None)
        10
    """
    version = opset or DEFAULT_OPSET
    if version > latest_opset():
        warnings.warn(
            f"opset {version} is newer than {latest_opset()}, the newest that the installed onnx "
            "knows; update onnx, or choose a lower one",
            stacklevel=2,
        )
    return version


def run_onnx(
    onnx_model_path: str | os.PathLike[str],
    providers: Sequence[str],
    ipt_dict: Mapping[str, np.ndarray] | None = None,
    ort_optimize: bool = True,
    input_tensor_range: Sequence[float] | None = None,
) -> tuple[dict[str, np.ndarray], Any]:
    """Run a model in ONNX Runtime.

    Args:
        onnx_model_path: the file.
        providers: ONNX Runtime's execution providers.
        ipt_dict: the inputs by name; None: uniform random numbers.
        ort_optimize: let ONNX Runtime optimise the graph.
        input_tensor_range: the interval of the random numbers; None: from -10 to 10.

    Returns:
        The inputs by name, and the output; a list if there are several.

    Raises:
        ValueError: the range is not two increasing numbers, or inputs are missing.

    Example:
        >>> import oneflow as flow
        >>> import tempfile
        >>> from oneflow_onnx.oneflow2onnx.util import export_onnx_model, run_onnx
        >>> class Double(flow.nn.Graph):
        ...     def build(self, x):
        ...         return 2 * x
        >>> graph = Double()
        >>> result = graph(flow.ones(2))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path, remove = export_onnx_model(graph, onnx_model_path=folder)
        ...     inputs, output = run_onnx(path, ["CPUExecutionProvider"])
        >>> bool((output == 2 * next(iter(inputs.values()))).all())
        True
    """
    low, high = _checked_range(input_tensor_range)
    settings = onnxruntime.SessionOptions()
    if not ort_optimize:
        level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        settings.graph_optimization_level = level
    session = onnxruntime.InferenceSession(str(onnx_model_path), settings, providers=providers)
    if ipt_dict is None:
        ipt_dict = {input_.name: _random(input_, low, high) for input_ in session.get_inputs()}
    missing = sorted({input_.name for input_ in session.get_inputs()} - set(ipt_dict))
    if missing:
        raise ValueError(f"`ipt_dict` lacks the inputs {missing}")
    outputs = session.run(None, dict(ipt_dict))
    return dict(ipt_dict), outputs[0] if len(outputs) == 1 else outputs


def _checked_range(limits: Sequence[float] | None) -> tuple[float, float]:
    if limits is None:
        return -10.0, 10.0
    if len(limits) != 2 or limits[0] >= limits[1]:
        raise ValueError(f"`input_tensor_range` must be two increasing numbers, got {limits}")
    return float(limits[0]), float(limits[1])


def _random(node: Any, low: float, high: float) -> np.ndarray:
    """Random numbers for an input; a symbolic size is 1."""
    if node.type not in _TYPES:
        raise ValueError(f"input `{node.name}` is {node.type}; give it in `ipt_dict`")
    shape = [dim if isinstance(dim, int) else 1 for dim in node.shape]
    numbers = np.random.default_rng(0).uniform(low, high, shape)
    return numbers.astype(_TYPES[node.type])


def compare_result(
    a: np.ndarray,
    b: np.ndarray,
    rtol: float = 1e-2,
    atol: float = 1e-5,
    print_outlier: bool = False,
) -> None:
    """Check that two arrays are close.

    Args:
        a: one.
        b: the other value.
        rtol: relative tolerance.
        atol: absolute tolerance.
        print_outlier: name the places where they are not.

    Raises:
        AssertionError: they are not.

    Example:
        >>> import numpy as np
        >>> from oneflow_onnx.oneflow2onnx.util import compare_result
        >>> compare_result(np.array([1.0, 2.0]), np.array([1.0, 2.00001]))
    """
    close = np.isclose(a, b, rtol=rtol, atol=atol, equal_nan=True)
    if close.all():
        return
    difference = np.abs(np.asarray(a, np.float64) - np.asarray(b, np.float64))
    text = f"{int((~close).sum())} of {close.size} numbers differ, by up to {difference.max():.3g}"
    if print_outlier:
        places = np.argwhere(~close)[:10]
        rows = [f"  at {tuple(map(int, p))}: {a[tuple(p)]} and {b[tuple(p)]}" for p in places]
        text += "\n" + "\n".join(rows)
    raise AssertionError(text)


def convert_to_onnx_and_check(
    graph: Any,
    print_outlier: bool = True,
    external_data: bool = False,
    ort_optimize: bool = True,
    opset: int | None = None,
    flow_weight_dir: str | os.PathLike[str] | None = None,
    onnx_model_path: str | os.PathLike[str] = "/tmp",
    dynamic_batch_size: bool = False,
    device: str = "cpu",
    input_tensor_range: Sequence[float] | None = None,
) -> None:
    """Export a graph that was called before, and compare it with itself in ONNX Runtime.

    All outputs are compared, with rtol 1e-2 and atol 1e-5.

    Args:
        graph: an `nn.Graph`.
        print_outlier: name the places that differ.
        external_data: store weights in a file of their own.
        ort_optimize: let ONNX Runtime optimise the graph.
        opset: the opset; None: 10, or the lowest that can express the graph.
        flow_weight_dir: a folder with weights from ``flow.save(graph.state_dict(), folder)``.
        onnx_model_path: the file, or a folder, in which it is called ``model.onnx``.
        dynamic_batch_size: dimension 0 of the first input is symbolic.
        device: ``"cpu"`` or ``"gpu"``, where ONNX Runtime runs it; with ``"_global"`` for graphs
            on a placement.
        input_tensor_range: the interval of the random inputs; None: from -10 to 10.

    Raises:
        AssertionError: the results differ.
        ValueError: `device` is another one, or ONNX Runtime has no such provider.

    Example:
        >>> import oneflow as flow
        >>> import tempfile
        >>> from oneflow_onnx.oneflow2onnx.util import convert_to_onnx_and_check
        >>> class Double(flow.nn.Graph):
        ...     def build(self, x):
        ...         return 2 * x
        >>> graph = Double()
        >>> result = graph(flow.ones(2))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     convert_to_onnx_and_check(graph, onnx_model_path=folder)
    """
    kind = device.removesuffix("_global")
    if kind not in _PROVIDERS:
        raise ValueError(
            f'`device` must be "cpu", "gpu", "cpu_global" or "gpu_global", got {device!r}'
        )
    provider = _PROVIDERS[kind]
    if provider not in onnxruntime.get_available_providers():
        raise ValueError(f"ONNX Runtime here has no {provider}; install `onnxruntime-gpu`")
    path, _ = export_onnx_model(
        graph, external_data, opset, flow_weight_dir, onnx_model_path, dynamic_batch_size
    )
    inputs, outputs = run_onnx(path, [provider], None, ort_optimize, input_tensor_range)
    expected = _call(graph, list(inputs.values()))
    results = [outputs] if len(expected) == 1 else outputs
    for output, reference in zip(results, expected, strict=True):
        compare_result(output, reference, print_outlier=print_outlier)


def _call(graph: Graph | JobFunction, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    """The arrays that a graph, or a job, returns for these arguments."""
    examples, _ = compiled_arguments(graph)
    tensors = [
        _like(flow.tensor(array), example) for array, example in zip(arrays, examples, strict=True)
    ]
    called = graph.define() if isinstance(graph, JobFunction) else graph
    results: list[Tensor] = []
    tree_flatten(called(*tensors), results, "the results")
    return [result.detach().numpy() for result in results]


def _like(x: Tensor, other: Tensor) -> Tensor:
    """`x` on the device, or placement, of another tensor."""
    if other.is_global:
        return x.to_global(other.placement, other.sbp)
    return x.to(other.device)
