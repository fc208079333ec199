"""Python's garbage collector waits while the package and JAX are imported.

What they make stays. Looking through it for garbage again and again, because there is ever more of
it, takes a fifth of the time of `import jax`.
"""

from __future__ import annotations

import gc

_WAS_ENABLED = gc.isenabled()
# Somebody else may have set objects aside, who must take them back.
_FROZEN_BEFORE = gc.get_freeze_count()


def end() -> None:
    """Let the collector go on, as far as it did before."""
    if not _FROZEN_BEFORE:
        # Now all objects count as old, and the next collection of young ones is a short one.
        gc.freeze()
        gc.unfreeze()
    if _WAS_ENABLED:
        gc.enable()


gc.disable()
