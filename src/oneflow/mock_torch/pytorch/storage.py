"""``torch.storage``: classes of memory, of which there is one for each dtype."""

from oneflow.base import dtype as dt
from oneflow.base.dtype import DType
from oneflow.functional.creation.storages import (
    STORAGE_CLASSES,
    LegacyStorage,
    TypedStorage as TypedStorage,
    UntypedStorage as UntypedStorage,
)


def _dtype_to_storage_type_map() -> dict[DType, str]:
    """Return the names of the classes by dtype."""
    return {dtype: storage_class.__name__ for dtype, storage_class in STORAGE_CLASSES.items()}


BFloat16Storage = STORAGE_CLASSES[dt.bfloat16]
BoolStorage = STORAGE_CLASSES[dt.bool_]
ByteStorage = STORAGE_CLASSES[dt.uint8]
CharStorage = STORAGE_CLASSES[dt.int8]
ComplexDoubleStorage = STORAGE_CLASSES[dt.complex128]
ComplexFloatStorage = STORAGE_CLASSES[dt.complex64]
DoubleStorage = STORAGE_CLASSES[dt.float64]
FloatStorage = STORAGE_CLASSES[dt.float32]
HalfStorage = STORAGE_CLASSES[dt.float16]
IntStorage = STORAGE_CLASSES[dt.int32]
LongStorage = STORAGE_CLASSES[dt.int64]
ShortStorage = STORAGE_CLASSES[dt.int16]
_LegacyStorage = LegacyStorage
_storage_classes = {UntypedStorage, TypedStorage, *STORAGE_CLASSES.values()}
