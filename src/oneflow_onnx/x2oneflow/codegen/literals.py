"""Literals: what a model says, as code.

A model is data that somebody else wrote. No text of it reaches generated code but through the
functions of this file, and none of them writes anything but a literal.
"""

from __future__ import annotations

import keyword
import math
import re
from typing import Any

import numpy as np

# Longer constants are stored with the weights.
_LONGEST_LITERAL = 64

# The parameters of `calls.call` that are no attributes.
_RESERVED_NAMES = {"name", "opset", "domain", "outputs"}

_STRING = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\"""")


def literal(value: Any) -> str:
    """Return an expression for `value`, for the text of a `Line`: its braces are doubled.

    Raises:
        NotImplementedError: Python has no literal for a value of this type.
    """
    return _expression(value).replace("{", "{{").replace("}", "}}")


def number_literal(array: np.ndarray) -> str:
    """Return the number in an array of one, as short as its precision allows."""
    return _number(array.reshape(-1)[0])


def keyword_argument(name: str, value: Any) -> str:
    """Return an argument of `call` for an attribute, whatever its name."""
    plain = name.isascii() and name.isidentifier() and not keyword.iskeyword(name)
    if plain and name not in _RESERVED_NAMES:
        return f"{name}={literal(value)}"
    return f"**{{{{{literal(name)}: {literal(value)}}}}}"


def docstring(text: str) -> str:
    """Return a docstring that shows `text` in one line."""
    return f'""{_text(text)}""'


def without_strings(line: str) -> str:
    """Return a line of the same length in which underscores stand for quoted text."""
    return _STRING.sub(lambda match: "_" * len(match[0]), line)


def is_short(array: np.ndarray) -> bool:
    """Return True if `array` is written as a literal."""
    return array.size <= _LONGEST_LITERAL


def is_number(array: np.ndarray) -> bool:
    """Return True for an array of numbers, and not of text."""
    return array.dtype.kind not in "OSU"


def _expression(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return _array(value)
    if isinstance(value, list):
        return f"[{', '.join(map(_expression, value))}]"
    if isinstance(value, float):
        # Attributes are stored in single precision.
        return _number(np.float32(value))
    if isinstance(value, tuple):
        return f"({', '.join(map(_expression, value))}{',' * (len(value) == 1)})"
    if isinstance(value, str):
        return _text(value)
    if value is None or isinstance(value, bool | int | bytes):
        return repr(value)
    raise NotImplementedError(
        f"code for a value of type `{type(value).__name__}`; import the model with `from_onnx`"
    )


def _text(text: str) -> str:
    """Return a text as Python shows it, between double quotes."""
    chars = ('\\"' if char == '"' else repr(char)[1:-1] for char in text)
    return f'"{"".join(chars)}"'


def _array(array: np.ndarray) -> str:
    dtype = array.dtype
    if not is_number(array):
        return f"np.array({_expression(array.tolist())}, object)"
    if any(dtype == type_ for type_ in (np.int64, np.bool_)) and array.size:
        return f"np.array({_rows(array)})"
    # NumPy's own types are its attributes; it knows others by their names.
    written = f"np.{dtype.name}" if dtype.isbuiltin == 1 else repr(dtype.name)
    if not array.size and array.ndim != 1:
        return f"np.zeros({array.shape}, {written})"
    return f"np.array({_rows(array)}, {written})"


def _rows(array: np.ndarray) -> str:
    return f"[{', '.join(map(_rows, array))}]" if array.ndim else _number(array[()])


def _number(value: Any) -> str:
    """Return a number of NumPy as Python writes it."""
    text = str(value)
    if isinstance(value, np.complexfloating):
        return text if np.isfinite(value) else f'complex("{text.strip("()")}")'
    return text if math.isfinite(value) else f'float("{text}")'
