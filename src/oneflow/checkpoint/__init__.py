"""Saving and loading: safe files with tensors and plain Python data."""

from oneflow.checkpoint.variables_folder import get as get, save as save
