"""Reverse-mode differentiation of values: nodes, the backward walk, grad modes; no `Tensor`."""
