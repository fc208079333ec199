"""Names of upstream's private modules that programs read; `base.import_paths` has the paths.

A name is here if it can do what its callers want of it. For others `unsupported` says what stands
for them.
"""

from oneflow.base.lazy_import import lazy_getattr as _lazy_getattr

__getattr__ = _lazy_getattr(__name__, ("record_messages",))
