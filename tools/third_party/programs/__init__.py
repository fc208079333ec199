"""The programs of each library: a module per library, with its cases by name in ``CASES``.

They import PyTorch, whose name is this package's in a process that says so.
"""
