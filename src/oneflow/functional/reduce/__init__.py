"""Reductions and running reductions: many elements to one."""
