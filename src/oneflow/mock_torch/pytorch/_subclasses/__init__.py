"""Names of ``torch._subclasses``."""
