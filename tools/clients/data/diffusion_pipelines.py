"""Pictures of OneFlow's Stable Diffusion pipeline: eagerly, from graphs, and from saved graphs.

``diffusion_pipelines.py FOLDER`` makes them with the pipeline of a folder; they must be equal.
"""

from __future__ import annotations

import sys
import tempfile
from typing import Any

# Its operators are of one build of PyTorch alone, and nothing here needs them.
sys.modules["torchvision"] = None  # pyright: ignore[reportArgumentType]

import numpy as np  # noqa: E402
from onediff import (  # noqa: E402  # pyright: ignore[reportMissingImports]
    OneFlowStableDiffusionPipeline,
)

import oneflow as flow  # noqa: E402

TOLERANCE = 1e-5


def picture(pipeline: Any, size: int, as_graph: bool) -> np.ndarray:
    """A picture of a size, from the same noise each time."""
    result = pipeline(
        "a photo of a dog",
        height=size,
        width=size,
        num_inference_steps=3,
        generator=flow.Generator("cpu").manual_seed(1),
        compile_unet=as_graph,
        compile_vae=as_graph,
        output_type="np",
    )
    return result.images


def main(folder: str) -> int:
    """Return 1 if pictures differ."""
    pipeline = OneFlowStableDiffusionPipeline.from_pretrained(folder).to("cpu")
    pipeline.enable_save_graph()
    eager = [picture(pipeline, size, False) for size in (32, 48)]
    graphs = [picture(pipeline, size, True) for size in (32, 48)]
    with tempfile.TemporaryDirectory() as saved:
        pipeline.save_graph(saved)
        again = OneFlowStableDiffusionPipeline.from_pretrained(folder).to("cpu")
        again.load_graph(saved)
        loaded = [picture(again, size, True) for size in (32, 48)]
    difference = 0.0
    for first, second, third in zip(eager, graphs, loaded, strict=True):
        difference = max(difference, abs(second - first).max(), abs(third - first).max())
    sys.stdout.write(f"largest difference {difference:.1e}, spread {eager[0].std():.2f}\n")
    return int(not (difference < TOLERANCE and eager[0].std() > 0))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
