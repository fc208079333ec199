"""The interface of earlier versions under the path that OneFlow 0.5 and 0.6 gave it."""

from oneflow.compatible import single_client as single_client

__all__ = ["single_client"]
