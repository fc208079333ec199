"""Upstream's builtins, `oneflow._C`, where they differ from the public functions."""
