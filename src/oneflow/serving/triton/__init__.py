"""Saved graphs under NVIDIA's Triton Inference Server."""
