"""Saved models: prediction jobs in a folder, and the session that runs them."""

from oneflow.legacy.inference_session import (
    InferenceSession as InferenceSession,
    ModelVersionPolicy as ModelVersionPolicy,
    SessionOption as SessionOption,
)
from oneflow.legacy.saved_model import (
    GraphBuilder as GraphBuilder,
    ModelBuilder as ModelBuilder,
    SignatureBuilder as SignatureBuilder,
)

__all__ = [
    "GraphBuilder",
    "InferenceSession",
    "ModelBuilder",
    "ModelVersionPolicy",
    "SessionOption",
    "SignatureBuilder",
]
