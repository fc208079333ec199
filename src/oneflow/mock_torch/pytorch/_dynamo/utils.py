"""Names of ``torch._dynamo.utils``."""


def is_compile_supported(device_type: str) -> bool:
    """Return False: functions are not compiled one by one for a type of device."""
    return False


__all__ = ["is_compile_supported"]
