"""Types of memory on GPUs: ``torch.cuda.FloatStorage`` and its like."""

from oneflow.functional.creation.legacy_storages import legacy_storage
from oneflow.functional.creation.storages import STORAGE_KINDS

globals().update(
    {
        f"{kind}Storage": legacy_storage(f"{kind}Storage", dtype, "cuda")
        for dtype, kind in STORAGE_KINDS.items()
    }
)
