"""The launcher: starts the processes of a job on one machine and watches them.

Imports nothing but the standard library, so that it starts at once.
"""
