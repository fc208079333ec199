"""The forms in which overrides of PyTorch's functions get their arguments.

PyTorch's functions in Python fill in defaults, and give tensors in lists one by one.
"""

from __future__ import annotations

import ast
import string
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from oneflow.tensor.tensor import Tensor

Arguments = tuple[tuple[Any, ...], dict[str, Any]]
_EMBEDDING = (
    "input weight | padding_idx=None max_norm=None norm_type=2.0 scale_grad_by_freq=False"
    " sparse=False"
)
#: Arguments by place before the bar, those that are given by name behind it, with defaults.
_FORMS = {
    "cdist": "x1 x2 | p=2.0 compute_mode='use_mm_for_euclid_dist_if_necessary'",
    "lobpcg": "A | k=None B=None X=None n=None iK=None niter=None tol=None largest=None "
    "method=None tracker=None ortho_iparams=None ortho_fparams=None ortho_bparams=None",
    "norm": "input | p='fro' dim=None keepdim=False out=None dtype=None",
    "pca_lowrank": "A | q=None center=True niter=2",
    "split": "tensor split_size_or_sections | dim=0",
    "stft": "input n_fft | hop_length=None win_length=None window=None center=True "
    "pad_mode='reflect' normalized=False onesided=None return_complex=None",
    "svd_lowrank": "A | q=6 niter=2 M=None",
    "tensordot": "a b | dims=2 out=None",
    "unique": "input | sorted=True return_inverse=False return_counts=False dim=None",
    "unique_consecutive": "input | return_inverse=False return_counts=False dim=None",
    "unravel_index": "indices | shape",
}
_SUBSCRIPTS = string.ascii_uppercase + string.ascii_lowercase


def _form(text: str) -> Callable[[Any, Any], Arguments]:
    """Return what brings the arguments of a call into a form."""
    leading, rest = (part.split() for part in text.split("|"))
    entries = [entry.partition("=") for entry in rest]
    names = [*leading, *(name for name, _, _ in entries)]
    defaults = {name: ast.literal_eval(value) for name, _, value in entries if value}

    def arrange(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Arguments:
        named = {**defaults, **dict(zip(names, args, strict=False)), **kwargs}
        if len(args) > len(names) or not all(name in named for name in leading):
            return args, kwargs  # wrong, or by names that are this package's own
        return tuple(named.pop(name) for name in leading), named

    return arrange


def _einsum(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Arguments:
    """Give `einsum` an equation, and its operands one by one."""
    if len(args) > 1 and isinstance(args[0], Tensor):
        terms = ["".join(map(_subscript, labels)) for labels in args[1::2]]
        result = f"->{''.join(map(_subscript, args[-1]))}" if len(args) % 2 else ""
        args = (",".join(terms) + result, *args[: len(terms) * 2 : 2])
    while len(args) == 2 and isinstance(args[1], list | tuple):
        args = (args[0], *args[1])
    return args, kwargs


def _meshgrid(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Arguments:
    return args, {"indexing": None, **kwargs}


def _subscript(label: Any) -> str:
    return "..." if label is Ellipsis else _SUBSCRIPTS[label]


#: The functions that bring arguments into the form that overrides get, by module and function.
ARRANGEMENTS: Mapping[str, Mapping[str, Callable[[Any, Any], Arguments]]] = MappingProxyType(
    {
        "torch": {
            "einsum": _einsum,
            "meshgrid": _meshgrid,
            **{name: _form(text) for name, text in _FORMS.items()},
        },
        "torch.nn.functional": {"embedding": _form(_EMBEDDING)},
    }
)
