"""Switches in environment variables: `oneflow.support.env_var_util`."""

from __future__ import annotations

import os


def is_true(text: str) -> bool:
    """Return whether a text means that something is on.

    Example:
        >>> from oneflow.support.env_var_util import string_to_bool
        >>> string_to_bool("Yes"), string_to_bool("0")
        (True, False)
    """
    return text.lower() in {"1", "true", "yes", "on", "y"}


def is_on(name: str, default: bool) -> bool:
    """Return whether an environment variable says that something is on.

    Args:
        name: the name of the variable.
        default: what holds where it is not set.

    Example:
        >>> from oneflow.support.env_var_util import parse_boolean_from_env
        >>> parse_boolean_from_env("NOT_SET_ANYWHERE", True)
        True
    """
    text = os.environ.get(name)
    return default if text is None else is_true(text)


parse_boolean_from_env, string_to_bool = is_on, is_true
