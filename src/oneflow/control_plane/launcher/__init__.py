"""The launcher: starts the processes of a job on one machine and supervises them.

Imports only the standard library and modules of this package that do the same, so that it starts at
once.
"""
