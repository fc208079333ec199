"""Writes down the calls of PyTorch's functions in models: ``python -m tools.slow_spots.record``.

The models run on the device `meta`, so that nothing is computed. What has been recorded is not
recorded again.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

# Libraries import torchvision, whose build may lack its operators.
import tests.flowvision.torchvision_operators  # noqa: F401
import torch
from tools.slow_spots.models import Model, models
from tools.slow_spots.recorder import Recorder


def _record(model: Model) -> dict[str, int]:
    with torch.device("meta"):
        module, (args, kwargs) = model.make(), model.inputs()
        with Recorder() as recorder:
            module(*args, **kwargs)
    return recorder.counts


def main(file: Path, parts: list[str]) -> None:
    """Record the models whose names hold one of the parts, and have not been recorded."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.touch()
    done = {json.loads(line)["model"] for line in file.read_text().splitlines()}
    with file.open("a") as output:
        for model in models():
            if model.name in done or (parts and not any(part in model.name for part in parts)):
                continue
            try:
                counts, reason = _record(model), None
            except Exception as error:  # a size that the model does not take
                counts, reason = {}, f"{type(error).__name__}: {error}"[:200]
            line = {"model": model.name, "calls": counts, "error": reason}
            output.write(json.dumps(line) + "\n")
            output.flush()
            print(model.name, len(counts), reason or "", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
