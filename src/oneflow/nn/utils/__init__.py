"""Utilities for modules and their parameters."""

from oneflow.nn.utils import rnn as rnn
