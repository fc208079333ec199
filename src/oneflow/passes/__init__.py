"""Passes: functions from a program to a program, one file each, listed in `pipeline.py`."""
