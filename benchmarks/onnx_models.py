"""Imported networks as graphs, in XLA and in OpenVINO, and the same files in ONNX Runtime.

    python benchmarks/onnx_models.py                       # inference, in turns
    python benchmarks/onnx_models.py resnet50 --rounds 15  # one of them
    python benchmarks/onnx_models.py --conversion          # export and import: time and memory

Figures are medians over the rounds; in a round each rival, in its own process, runs the same number
of steps, one rival after the other. Where the network exists in hand-written JAX, that takes part.
The networks have random weights, but for PP-OCR's, whose file is in the package
`rapidocr-onnxruntime`. Conversions are made in a fresh process each, a first and
a second time; memory is the highest resident memory meanwhile less that before, in sizes of the
file. Linux only.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.metadata
import multiprocessing
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.memory import reset_peak, resident
from benchmarks.rivals import measure
from benchmarks.workloads import Workload

RIVALS = ("graph", "openvino", "onnxruntime", "jax.jit")
BY_HAND = {"resnet50", "mobilenet_v2", "bert_base"}
# Shape of the input, and steps of a round.
NETWORKS = {
    "resnet50": ((1, 3, 224, 224), 5),
    "mobilenet_v2": ((1, 3, 224, 224), 20),
    "bert_base": ((1, 128), 3),
    "ppocr_rec": ((1, 3, 48, 320), 10),
}


def bert_base(flow: Any) -> Any:
    """An encoder of the size of BERT-base, from indices of words to hidden states."""
    layer = flow.nn.TransformerEncoderLayer(768, 12, 3072, activation="gelu", batch_first=True)
    encoder = flow.nn.TransformerEncoder(layer, 12)
    return flow.nn.Sequential(flow.nn.Embedding(30522, 768), flow.nn.LayerNorm(768), encoder)


def example(name: str) -> np.ndarray:
    """An input of a network."""
    shape, _ = NETWORKS[name]
    random = np.random.default_rng(0)
    if name == "bert_base":
        return random.integers(0, 30522, shape)
    return random.standard_normal(shape).astype(np.float32)


def source(name: str) -> Any:
    """A network of ours, its weights computed."""
    flow = importlib.import_module("oneflow")
    models = importlib.import_module("flowvision.models")
    model = bert_base(flow) if name == "bert_base" else getattr(models, name)()
    for tensor in model.state_dict().values():
        tensor.numpy()
    return model.eval()


def write(name: str, path: Path) -> None:
    """Write the file of a network."""
    if name == "ppocr_rec":
        package = importlib.metadata.distribution("rapidocr-onnxruntime")
        file = package.locate_file("rapidocr_onnxruntime/models/ch_PP-OCRv4_rec_infer.onnx")
        path.write_bytes(Path(str(file)).read_bytes())
        return
    flow = importlib.import_module("oneflow")
    flow.onnx.export(source(name), flow.tensor(example(name)), path, opset_version=17)


def inference(workload: Workload, rival: str) -> Callable:
    """A call of the rival; its result is an array."""
    name, path = workload.name, workload.options["path"]
    if rival == "jax.jit":
        by_hand = importlib.import_module(f"benchmarks.jax_steps.{name}").build_inference(batch=1)
        return lambda: np.asarray(by_hand())
    x = example(name)
    if rival == "onnxruntime":
        runtime = importlib.import_module("onnxruntime")
        session = runtime.InferenceSession(path, providers=["CPUExecutionProvider"])
        key = session.get_inputs()[0].name
        return lambda: session.run(None, {key: x})[0]
    flow = importlib.import_module("oneflow")
    module = importlib.import_module("oneflow_onnx.x2oneflow.onnx2flow").from_onnx(path)

    class Imported(flow.nn.Graph):
        def __init__(self) -> None:
            super().__init__()
            self.module = module
            self.config.enable_openvino(rival == "openvino")

        def build(self, x: Any) -> Any:
            return self.module(x)

    graph, tensor = Imported(), flow.tensor(x)
    return lambda: graph(tensor).numpy()


def compare_rivals(name: str, rounds: int) -> str:
    """The line of the table of inference for a network."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        _in_new_process(write, name, path)
        workload = Workload(
            name,
            steps=NETWORKS[name][1],
            rounds=rounds,
            has_jax=name in BY_HAND,
            options={"path": str(path)},
        )
        medians = measure(inference, workload, RIVALS)
    times = [f"{medians[rival] * 1e3:.1f}" if rival in medians else "" for rival in RIVALS]
    ratios = [f"{medians[rival] / medians['onnxruntime']:.2f}" for rival in RIVALS[:2]]
    return f"| {name} | {' | '.join(times + ratios)} |"


def convert(name: str, path: Path) -> None:
    """Export and import a network twice, and print times and memory."""
    flow = importlib.import_module("oneflow")
    from_onnx = importlib.import_module("oneflow_onnx.x2oneflow.onnx2flow").from_onnx
    model, x = source(name), flow.tensor(example(name))
    for number in ("first", "second"):
        exported = _measured(lambda: flow.onnx.export(model, x, path, opset_version=17))
        imported = _measured(lambda: from_onnx(path))
        size = path.stat().st_size / 2**20
        cells = [f"{seconds:.2f} | {memory / size:.1f}" for seconds, memory in (exported, imported)]
        print(f"| {name}, {number} | {size:.0f} | {' | '.join(cells)} |", flush=True)


def _measured(function: Callable[[], Any]) -> tuple[float, float]:
    """Seconds and MiB that a call takes."""
    reset_peak()
    before, start = resident("VmRSS"), time.perf_counter()
    function()
    return time.perf_counter() - start, resident("VmHWM") - before


def _in_new_process(function: Callable[..., None], *args: Any) -> None:
    process = multiprocessing.get_context("spawn").Process(target=function, args=args)
    process.start()
    process.join()
    if process.exitcode:
        raise SystemExit(f"`{function.__name__}` ended with {process.exitcode}")


def main() -> None:
    """Run the chosen networks and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help=f"of {', '.join(NETWORKS)}; default: all")
    parser.add_argument("--conversion", action="store_true", help="export and import")
    parser.add_argument("--rounds", type=int, default=9, help="rounds (default: 9)")
    options = parser.parse_args()
    names = options.names or [n for n in NETWORKS if n != "ppocr_rec" or not options.conversion]
    unknown = [name for name in names if name not in NETWORKS]
    if unknown:
        parser.error(f"unknown network {unknown[0]!r}; known: {', '.join(NETWORKS)}")
    if options.conversion:
        print("| conversion | file MiB | export s | / file | import s | / file |")
        print(f"|{'---|' * 6}", flush=True)
        with tempfile.TemporaryDirectory() as folder:
            for name in names:
                _in_new_process(convert, name, Path(folder) / "model.onnx")
        return
    heads = [f"{rival} ms" for rival in RIVALS]
    print(f"| inference | {' | '.join(heads)} | graph / ORT | openvino / ORT |")
    print(f"|{'---|' * 6}", flush=True)
    for name in names:
        print(compare_rivals(name, options.rounds), flush=True)


if __name__ == "__main__":
    main()
