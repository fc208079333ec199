"""``torch.storage``: classes of memory, one for each dtype."""

from oneflow.base.dtype import DType
from oneflow.functional.creation.legacy_storages import STORAGE_CLASSES, LegacyStorage
from oneflow.functional.creation.storages import (
    STORAGE_KINDS,
    TypedStorage as TypedStorage,
    UntypedStorage as UntypedStorage,
)


def _dtype_to_storage_type_map() -> dict[DType, str]:
    """Return the names of the classes by dtype."""
    return {dtype: f"{kind}Storage" for dtype, kind in STORAGE_KINDS.items()}


def _element_size(dtype: DType) -> int:
    """Return the number of bytes of an element, which libraries ask ``torch._utils`` for."""
    return dtype.itemsize


globals().update({kind.__name__: kind for kind in STORAGE_CLASSES.values()})
_LegacyStorage = LegacyStorage
_storage_classes = {UntypedStorage, TypedStorage, *STORAGE_CLASSES.values()}
