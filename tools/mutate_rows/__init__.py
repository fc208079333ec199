"""Breaks each promised feature in turn and runs its test, which must fail: `make mutants`."""
