"""Arrays in the memory of tensors: each sees what is written to the other."""

from __future__ import annotations

import numpy as np

from oneflow.base.device import CPU
from oneflow.base.program_name import PYTORCH, program_name
from oneflow.program.value import ValueOfClass
from oneflow.runtime.eager import current
from oneflow.tensor.host_memory import HostMemory, numbers_of
from oneflow.tensor.reads import READS
from oneflow.tensor.storage import MEMORY_LOCK, Storage
from oneflow.tensor.views import Handle, share, unwrap

# The memory of a tensor is copied as a whole for an array of its parts up to this size, or if they
# are half of it.
_SMALL = 1 << 20


def array_of(tensor: Handle) -> np.ndarray | None:
    """The array of the memory that a tensor has, or shares from now on.

    None if it is to be a copy: a program of OneFlow's gets one of tensors that have not been made
    of an array.
    """
    spec = tensor._value.spec
    if spec.device is not CPU or spec.sbp is not None or isinstance(tensor._value, ValueOfClass):
        return None
    family = tensor._family
    has_memory = family is not None and family.storage.host is not None
    if not has_memory and (program_name() != PYTORCH or current.capture is not None):
        return None
    with MEMORY_LOCK:
        value, family = unwrap(tensor), share(tensor)
        chain = (*family.root_views(), *tensor._chain)
        storage = family.storage
        array = storage.host and storage.host.current_part(storage, spec, chain)
        if array is None:
            storage.synchronize()
            host = storage.host or _share(storage, spec.nbytes)
            array = host and host.part(spec, chain)
    if array is not None and READS.arrays is not None:
        READS.arrays.append(numbers_of(value))
    return array


def _share(storage: Storage, used: int) -> HostMemory | None:
    """Let a storage be memory of the host; None if it cannot be, or needs a large copy.

    Args:
        storage: the storage.
        used: the number of bytes that an array is to show.
    """
    root = storage.value
    if root.spec.nbytes > max(_SMALL, 2 * used) or root.is_symbolic:
        return None
    storage.host = HostMemory.copied_from(root)
    return storage.host
