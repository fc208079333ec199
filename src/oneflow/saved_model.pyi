"""Saved models: prediction jobs in a folder, and the session that runs them."""

# Generated from `base/old_modules.py` by `tools/make_stubs.py` (make stubs).
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

# fmt: off
__all__ = [
    "GraphBuilder", "InferenceSession", "ModelBuilder", "ModelVersionPolicy", "SessionOption",
    "SignatureBuilder",
]
# fmt: on
