"""The settings of MLServer, with which it serves `OnnxModel` of `benchmarks/mlserver_onnx.py`."""

import json
from pathlib import Path


def write(folder: Path, model: Path, ports: tuple[int, int, int], rows: int) -> None:
    """Write the files that `mlserver start` reads."""
    http, grpc, metrics = ports
    size = 2**28
    server = {
        "http_port": http,
        "grpc_port": grpc,
        "metrics_port": metrics,
        "parallel_workers": 0,
        "debug": False,
        "grpc_max_message_length": size,
    }
    settings = {
        "name": "model",
        "implementation": "mlserver_onnx.OnnxModel",
        "max_batch_size": rows,
        "max_batch_time": 0.001,
        "parameters": {"uri": str(model)},
    }
    folder.mkdir(parents=True)
    (folder / "settings.json").write_text(json.dumps(server))
    (folder / "model-settings.json").write_text(json.dumps(settings))
