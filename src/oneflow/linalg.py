"""Linear algebra."""

from oneflow.functional.products import multi_dot as multi_dot
