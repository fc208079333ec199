"""A server for saved graphs that speaks the Open Inference Protocol, and a backend for Triton."""

from oneflow.base.lazy_import import lazy_getattr as _lazy_getattr

# Sessions that run saved models of job functions had this path; see `oneflow.saved_model`.
__getattr__ = _lazy_getattr(
    __name__,
    names=dict.fromkeys(
        ("InferenceSession", "ModelVersionPolicy", "SessionOption"), "oneflow.saved_model"
    ),
)
