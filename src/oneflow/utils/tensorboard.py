"""Logs for TensorBoard."""

from oneflow.graph.summary_writer import SummaryWriter as SummaryWriter
