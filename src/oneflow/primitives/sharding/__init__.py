"""Sharding inference: axis notation, linearity, SBP signatures, boxing paths."""
