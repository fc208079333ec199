"""Planning mode, in which operators are recorded and never run."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from oneflow.base.planning import is_planning, set_planning
from oneflow.runtime.eager import flush_all


@contextlib.contextmanager
def planning() -> Iterator[None]:
    """Context manager: operators, layers and optimizers are recorded and never run.

    Placements may name devices that do not exist, and tensors may be of any size: they have a shape
    and a placement and take no memory. Reading a value is an error.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.plan import planning
        >>> with planning():
        ...     many = flow.placement("cuda", range(4096))
        ...     x = flow.ones(1 << 20, 1 << 20, placement=many, sbp=flow.sbp.split(0))
        ...     print(x.exp().to_local().shape)
        oneflow.Size([256, 1048576])
    """
    before = is_planning()
    # Instructions that were recorded outside run outside, and those recorded here never run.
    flush_all("sync")
    set_planning(True)
    try:
        yield
    finally:
        try:
            flush_all("sync")  # after an error, too
        finally:
            set_planning(before)
