"""Prefixes that wrappers of modules add to the names of parameters."""

FSDP_WRAPPED_MODULE = "_fsdp_wrapped_module"
FSDP_PREFIX = f"{FSDP_WRAPPED_MODULE}."
CHECKPOINT_WRAPPED_MODULE = "_checkpoint_wrapped_module"
CHECKPOINT_PREFIX = f"{CHECKPOINT_WRAPPED_MODULE}."


def clean_tensor_name(tensor_name: str) -> str:
    """Return the name of a parameter or buffer without the prefixes of wrappers."""
    return tensor_name.replace(FSDP_PREFIX, "").replace(CHECKPOINT_PREFIX, "")
