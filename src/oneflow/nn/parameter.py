"""Parameters, under the path that users import them from."""

from oneflow.module.parameter import Parameter as Parameter
