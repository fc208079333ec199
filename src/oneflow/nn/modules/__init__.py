"""Modules, one file per family."""
