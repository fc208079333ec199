"""Finding and creating models by name."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Sequence
from typing import Any

from flowvision.models.registry import RegisteredModel, find_model, registered_models
from oneflow import nn


class ModelCreator:
    """Creates models by name and lists those there are.

    Example:
        >>> from flowvision.models import ModelCreator
        >>> ModelCreator.model_list("squeezenet*")
        ['squeezenet1_0', 'squeezenet1_1']
        >>> model = ModelCreator.create_model("squeezenet1_1", num_classes=10)
    """

    @staticmethod
    def create_model(
        model_name: str, pretrained: bool = False, checkpoint: str | None = None, **kwargs: Any
    ) -> nn.Module:
        """Create the model `model_name`.

        Args:
            model_name: a name of `model_list`, or an older one of the same model.
            pretrained: whether to load published weights.
            checkpoint: a file with weights to load instead.
            **kwargs: arguments of the factory, such as `num_classes`.

        Raises:
            ValueError: if there is no such model.
            FileNotFoundError: if there is no such checkpoint.
        """
        return find_model(model_name).factory(pretrained=checkpoint or pretrained, **kwargs)

    @staticmethod
    def model_list(filter: str | Sequence[str] = "", pretrained: bool = False) -> list[str]:
        """Return the names of models, sorted.

        Args:
            filter: a pattern such as "vit_*", a regular expression, or several, of which one must
                match; by default all models.
            pretrained: whether to list only those with published weights.
        """
        return [model.name for model in _matching(filter, pretrained)]

    @staticmethod
    def model_table(
        filter: str | Sequence[str] = "", pretrained: bool = False, **kwargs: Any
    ) -> str:
        """Return a table of models: the name, the task, and whether there are weights.

        Args:
            filter: see `model_list`.
            pretrained: see `model_list`.
            **kwargs: accepted for the sake of programs for upstream, whose table takes arguments
                of its drawing library; they change nothing.
        """
        rows = [("Supported Models", "Task", "Pretrained")]
        rows += [
            (model.name, model.task, "true" if model.url else "false")
            for model in _matching(filter, pretrained)
        ]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        rule = "+" + "+".join("-" * (width + 2) for width in widths) + "+"
        lines = ["| " + " | ".join(map(str.ljust, row, widths)) + " |" for row in rows]
        return "\n".join([rule, lines[0], rule, *lines[1:], rule])


def _matching(patterns: str | Sequence[str], pretrained: bool) -> list[RegisteredModel]:
    if isinstance(patterns, str):
        patterns = [patterns]
    return [
        model
        for model in registered_models()
        if (model.url or not pretrained)
        and any(_matches(pattern, model.name) for pattern in patterns)
    ]


def _matches(pattern: str, name: str) -> bool:
    """Return whether a shell pattern or a regular expression fits `name`; an empty one fits all."""
    if not pattern or fnmatch.fnmatchcase(name, pattern):
        return True
    try:
        return re.fullmatch(pattern, name) is not None
    except re.error:
        return False
