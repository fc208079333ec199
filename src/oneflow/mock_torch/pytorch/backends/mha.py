"""``torch.backends.mha``: whether layers of attention may take a way of their own in inference."""

_setting = {"enabled": True}


def get_fastpath_enabled() -> bool:
    """Return what was set last; layers compute the same in training and inference."""
    return _setting["enabled"]


def set_fastpath_enabled(value: bool) -> None:
    """Keep a setting.

    Args:
        value: the setting.
    """
    _setting["enabled"] = value


__all__ = ["get_fastpath_enabled", "set_fastpath_enabled"]
