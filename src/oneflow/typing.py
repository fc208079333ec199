"""Annotations of job functions: placeholders of arguments, and kinds of results."""

from oneflow.legacy.annotations import (
    Bundle as Bundle,
    Callback as Callback,
    ListListNumpy as ListListNumpy,
    ListNumpy as ListNumpy,
    Numpy as Numpy,
)
