"""What programs read of upstream's private modules; `base.import_paths` says under which paths.

A name is here if it can do what its callers want of it. For others `unsupported` says what stands
for them.
"""

from oneflow.base.lazy_import import lazy_getattr as _lazy_getattr

__getattr__ = _lazy_getattr(__name__, ("record_messages",))
