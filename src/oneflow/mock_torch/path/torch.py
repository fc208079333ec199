"""Makes ``import torch`` find `oneflow` where this folder's parent is in ``PYTHONPATH``."""

import importlib
import sys

from oneflow import mock_torch

del sys.modules[__name__]
mock_torch.enable()
importlib.import_module(__name__)
