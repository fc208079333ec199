"""Layers that weigh tokens, channels or positions."""
