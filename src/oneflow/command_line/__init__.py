"""The commands of ``python -m oneflow``."""
