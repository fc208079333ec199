"""Importing this hides torchvision from transformers, which does without it.

PyPI's wheel of torchvision asks for CUDA's libraries, and importing it fails where they are not.
"""

from __future__ import annotations

import sys

sys.modules["torchvision"] = None  # pyright: ignore[reportArgumentType]
