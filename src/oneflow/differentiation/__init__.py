"""Reverse-mode differentiation on values: nodes, the backward walk, grad modes. It never sees a `Tensor`."""
