"""``torch.cuda.amp.common``: whether mixed precision can be used."""

from oneflow.cuda import is_available


def amp_definitely_not_available() -> bool:
    """Return whether there is no GPU."""
    return not is_available()


__all__ = ["amp_definitely_not_available"]
