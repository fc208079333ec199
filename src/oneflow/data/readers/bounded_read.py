"""Reading as many bytes as a file says that there are."""

from __future__ import annotations

from typing import IO

_PART = 1 << 20


def read_up_to(file: IO[bytes], size: int) -> bytes:
    """Return the next `size` bytes, or those up to the end of the file.

    Memory grows with what is there, and not with a length that is damaged.
    """
    parts = []
    while size > 0 and (part := file.read(min(size, _PART))):
        parts.append(part)
        size -= len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)
