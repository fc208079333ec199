"""Functions for tests of programs: comparing tensors, and tensors of random numbers."""

from oneflow.functional.testing.assertions import assert_close as assert_close
from oneflow.functional.testing.random_tensors import make_tensor as make_tensor

__all__ = ["assert_close", "make_tensor"]
