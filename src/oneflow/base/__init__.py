"""Ground floor: data types, devices, tensor specs and environment variables.

Imports nothing above it.
"""
