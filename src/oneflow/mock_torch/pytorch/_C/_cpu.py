"""Names of ``torch._C._cpu``."""


def _init_amx() -> bool:
    """Return False: XLA asks the system for the matrix unit of processors itself."""
    return False
