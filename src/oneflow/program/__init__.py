"""Recorded programs: the records, the recorder, a printer, a verifier and a plain evaluator."""
