"""The list of models: every factory registers itself, and `ModelCreator` finds and calls them."""

from __future__ import annotations

import difflib
import fnmatch
import functools
import inspect
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from flowvision.models.pretrained import load_pretrained
from oneflow import nn

_Model = TypeVar("_Model", bound=nn.Module)


@dataclass(frozen=True)
class RegisteredModel:
    """A model of the zoo.

    Attributes:
        name: the name of its factory.
        factory: builds it; see `register_model`.
        module: the module that defines the factory.
        task: such as "image classification".
        paper: the number of the paper on arXiv, or its address; empty if there is none.
        url: where trained weights are; empty if nobody publishes any for these parameter names.
        image_size: height and width of the images that it was made for, in pixels.
    """

    name: str
    factory: Callable[..., nn.Module] = field(repr=False)
    module: str
    task: str
    paper: str
    url: str
    image_size: int


_MODELS: dict[str, RegisteredModel] = {}
_ALIASES: dict[str, str] = {}


def register_model(
    *,
    paper: str = "",
    url: str = "",
    task: str = "image classification",
    image_size: int = 224,
    aliases: tuple[str, ...] = (),
    rename: Callable[[str], str] | None = None,
    pretrained_options: dict[str, Any] | None = None,
) -> Callable[[Callable[..., _Model]], Callable[..., _Model]]:
    """Register a factory and give it the arguments `pretrained` and `progress`.

    The decorated function builds the model with fresh weights; its signature becomes
    `(pretrained=False, progress=True, **what it takes itself)`. It also accepts torchvision's later
    spellings `weights` and `weights_backbone`, whose values are None, "DEFAULT", a name such as
    "IMAGENET1K_V1", or a path.

    Args:
        paper: the number of the paper on arXiv.
        url: where trained weights are, in a format that `oneflow.load` reads. The eight hexadecimal
            digits before the extension, if it has them (`resnet18-f37072fd.pth`), are the beginning
            of the file's SHA-256.
        task: such as "image classification".
        image_size: height and width of the images that the model was made for, in pixels.
        aliases: older names of the same factory.
        rename: a mapping from the names of parameters in published files to those of the model, if
            they differ.
        pretrained_options: arguments that the factory takes by default if it loads weights,
            because those were trained with them.

    Returns:
        The decorator.

    Example:
        >>> from flowvision.models.registry import register_model, unregister_model
        >>> from oneflow import nn
        >>> @register_model(paper="1404.5997")
        ... def tiny_example_net(num_classes: int = 10) -> nn.Module:
        ...     return nn.Linear(4, num_classes)
        >>> tiny_example_net(num_classes=3)
        Linear(in_features=4, out_features=3, bias=True)
        >>> unregister_model("tiny_example_net")
    """

    def decorate(build: Callable[..., _Model]) -> Callable[..., _Model]:
        name = build.__name__

        @functools.wraps(build)
        def factory(
            pretrained: bool | str = False, progress: bool = True, **options: Any
        ) -> _Model:
            if "weights" in options:
                pretrained = _as_pretrained(options.pop("weights"), name)
            if "weights_backbone" in options:
                backbone = _as_pretrained(options.pop("weights_backbone"), name)
                options["pretrained_backbone"] = bool(backbone)
            if not pretrained:
                return build(**options)
            model = build(**{**(pretrained_options or {}), **options})
            source = pretrained if isinstance(pretrained, str) else url
            load_pretrained(model, source, name=name, rename=rename, progress=progress)
            return model

        factory.__signature__ = _signature(build)  # pyright: ignore[reportAttributeAccessIssue]
        _add(
            RegisteredModel(name, factory, build.__module__, task, paper, url, image_size), aliases
        )
        return factory

    return decorate


def _add(model: RegisteredModel, aliases: tuple[str, ...] = ()) -> None:
    for taken in (model.name, *aliases):
        if taken in _MODELS or taken in _ALIASES:
            raise ValueError(f"a model named {taken!r} is registered already")
    _MODELS[model.name] = model
    _ALIASES.update(dict.fromkeys(aliases, model.name))


@dataclass(frozen=True)
class ModelFamily(Generic[_Model]):
    """The models of one architecture, which differ in its arguments: a call registers a model.

    Attributes:
        module: the name of the module that defines the models: `__name__`.
        architecture: makes a model.
        paper: see `register_model`.
        weights: the addresses of trained weights, with `{}` for what differs.
        task: see `register_model`.
        rename: see `register_model`.

    Example:
        >>> from flowvision.models.registry import ModelFamily, unregister_model
        >>> from oneflow import nn
        >>> _linear = ModelFamily(__name__, nn.Linear, paper="1404.5997")
        >>> linear_4_2 = _linear("linear_4_2", "A layer from 4 to 2 features.", 4, 2, bias=False)
        >>> linear_4_2(bias=True)
        Linear(in_features=4, out_features=2, bias=True)
        >>> unregister_model("linear_4_2")
    """

    module: str
    architecture: Callable[..., _Model]
    paper: str = ""
    weights: str = "{}"
    task: str = "image classification"
    rename: Callable[[str], str] | None = None

    def __call__(
        self,
        name: str,
        description: str,
        *arguments: Any,
        weights: str = "",
        image_size: int | None = None,
        aliases: tuple[str, ...] = (),
        **options: Any,
    ) -> Callable[..., _Model]:
        """Register a model and return its factory.

        Args:
            name: the name of the factory, which the result is assigned to.
            description: the documentation of the factory.
            *arguments: the positional arguments of the architecture.
            weights: what replaces `{}` in the addresses of the family; empty if nobody publishes
                weights.
            image_size: see `register_model`; default: the option `img_size`, or 224.
            aliases: see `register_model`.
            **options: further arguments of the architecture, which users may override.
        """

        def build(**kwargs: Any) -> _Model:
            return self.architecture(*arguments, **{**options, **kwargs})

        build.__name__ = build.__qualname__ = name
        build.__module__ = self.module
        build.__doc__ = description
        build.__annotations__["return"] = _result_name(self.architecture)
        return register_model(
            paper=self.paper,
            url=self.weights.format(weights) if weights else "",
            task=self.task,
            image_size=image_size or options.get("img_size", 224),
            aliases=aliases,
            rename=self.rename,
        )(build)


def _result_name(architecture: Callable[..., object]) -> str:
    """Return the name of the class of models that `architecture` makes."""
    if isinstance(architecture, type):
        return architecture.__name__
    return inspect.signature(architecture).return_annotation


def _as_pretrained(weights: Any, name: str) -> bool | str:
    """Return the value of `pretrained` for one of torchvision's `weights`.

    Raises:
        ValueError: they are not the first ones that were published, which are all there are here.
    """
    if weights is None:
        return False
    if not isinstance(weights, str):
        raise ValueError(f"{name}: `weights` must be None, a name or a path, got {weights!r}")
    if not re.fullmatch(r"[A-Z0-9_]+", weights):
        return weights
    if weights != "DEFAULT" and not weights.endswith("_V1"):
        raise ValueError(
            f"{name}: there are no weights {weights} here; "
            "pass 'DEFAULT', or the path of a file with them"
        )
    return True


def unregister_model(name: str) -> None:
    """Remove the model `name` and its aliases from the list.

    Raises:
        ValueError: if there is no such model.
    """
    model = find_model(name)
    del _MODELS[model.name]
    for alias in [alias for alias, target in _ALIASES.items() if target == model.name]:
        del _ALIASES[alias]


def find_model(name: str) -> RegisteredModel:
    """Return the model with this name or alias.

    Raises:
        ValueError: if there is none; the message names similar ones.
    """
    model = _MODELS.get(_ALIASES.get(name, name))
    if model is None:
        close = difflib.get_close_matches(name, [*_MODELS, *_ALIASES], n=3)
        hint = f"; did you mean {', '.join(map(repr, close))}?" if close else ""
        raise ValueError(f"unknown model {name!r}{hint}")
    return model


def registered_models() -> list[RegisteredModel]:
    """Return all models, sorted by name."""
    return [_MODELS[name] for name in sorted(_MODELS)]


def _signature(build: Callable[..., Any]) -> inspect.Signature:
    """Return the signature of a factory: `pretrained`, `progress`, and what `build` takes."""
    keyword = inspect.Parameter.POSITIONAL_OR_KEYWORD
    added = [
        inspect.Parameter("pretrained", keyword, default=False, annotation="bool | str"),
        inspect.Parameter("progress", keyword, default=True, annotation="bool"),
    ]
    signature = inspect.signature(build)
    taken = [
        parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        if parameter.kind is keyword
        else parameter
        for parameter in signature.parameters.values()
    ]
    return signature.replace(parameters=[*added, *taken])


class ModelCreator:
    """Creates models by name and lists those there are.

    Example:
        >>> from flowvision.models import ModelCreator
        >>> ModelCreator.model_list("squeezenet*")
        ['squeezenet1_0', 'squeezenet1_1']
        >>> model = ModelCreator.create_model("squeezenet1_1", num_classes=10)
    """

    @staticmethod
    def register_model(fn: Callable[..., _Model]) -> Callable[..., _Model]:
        """Decorator for a factory of a program, which takes `pretrained` itself.

        A dict `model_urls` of its module says where trained weights are. A program may register a
        factory of one of its modules again.

        Args:
            fn: the factory.

        Returns:
            The factory, as it is.

        Raises:
            ValueError: another module has a model of that name.

        Example:
            >>> from flowvision.models import ModelCreator
            >>> from flowvision.models.registry import unregister_model
            >>> from oneflow import nn
            >>> @ModelCreator.register_model
            ... def one_layer(pretrained=False, **kwargs):
            ...     return nn.Linear(2, kwargs["num_classes"])
            >>> ModelCreator.create_model("one_layer", num_classes=3)
            Linear(in_features=2, out_features=3, bias=True)
            >>> unregister_model("one_layer")
        """
        name, module = fn.__name__, fn.__module__
        if name in _MODELS and _MODELS[name].module == module:
            del _MODELS[name]
        urls = getattr(sys.modules.get(module), "model_urls", {})
        url = urls.get(name) or ""
        factory = functools.partial(_create, fn)
        _add(RegisteredModel(name, factory, module, "image classification", "", url, 224))
        return fn

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


def _create(
    build: Callable[..., nn.Module], pretrained: bool | str = False, **options: Any
) -> nn.Module:
    """The model that a factory of a program makes, with the weights of a file if one is named."""
    if not isinstance(pretrained, str):
        return build(pretrained=pretrained, **options)
    model = build(pretrained=False, **options)
    load_pretrained(model, pretrained, name=build.__name__, rename=None, progress=True)
    return model


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
