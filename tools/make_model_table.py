"""Write `docs/models.md`: the models of flowvision with their papers, sizes and weights.

``python tools/make_model_table.py`` builds each model without memory to count its parameters.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path

from tqdm import tqdm

from flowvision import models as models
from flowvision.models.registry import RegisteredModel, registered_models
from oneflow import nn
from oneflow.plan import planning

PAGE = Path(__file__).resolve().parents[1] / "docs" / "models.md"
_INTRODUCTION = """\
# Models of flowvision

{count} models, written by `tools/make_model_table.py` from their registrations. Parameters are in
millions, images in pixels; the last column says whose published weights `pretrained=True` loads.
`flowvision.models.ModelCreator.model_list("resnet*")` finds names, and
[flowvision](flowvision.md) explains the rest.
"""
_HEADER = "| name | paper | parameters | image | weights |\n| --- | --- | ---: | ---: | --- |"
_PUBLISHERS = {
    "download.pytorch.org": "torchvision",
    "huggingface.co": "timm",
    "dl.fbaipublicfiles.com": "Meta",
    "github.com": "the authors, on GitHub",
    "storage.googleapis.com": "Google",
}


def parameter_count(model: RegisteredModel) -> int:
    """Return the number of parameters of a model, which is built without memory."""
    takes_backbone = "pretrained_backbone" in inspect.signature(model.factory).parameters
    with planning():
        built: nn.Module = model.factory(
            **({"pretrained_backbone": False} if takes_backbone else {})
        )
    return sum(parameter.numel() for parameter in built.parameters())


def row(model: RegisteredModel, parameters: int) -> str:
    """Return a line of the table."""
    papers = ", ".join(
        f"[{number}](https://arxiv.org/abs/{number})"
        for number in re.findall(r"\d{4}\.\d{4,5}", model.paper)
    )
    host = model.url.split("/")[2] if model.url else ""
    publisher = _PUBLISHERS.get(host, host)
    cells = (f"`{model.name}`", papers, f"{parameters / 1e6:.1f}", model.image_size, publisher)
    return f"| {' | '.join(map(str, cells))} |"


def page() -> str:
    """Return the whole page."""
    listed = registered_models()
    counts = {model.name: parameter_count(model) for model in tqdm(listed, unit="model")}
    return "\n".join(_sections(listed, counts))


def _sections(listed: list[RegisteredModel], counts: dict[str, int]) -> Iterator[str]:
    yield _INTRODUCTION.format(count=len(listed))
    for task in sorted({model.task for model in listed}):
        yield f"## {task[0].upper()}{task[1:]}\n"
        yield _HEADER
        yield from (row(model, counts[model.name]) for model in listed if model.task == task)
        yield ""


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf8")
