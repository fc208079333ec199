"""Shape: views, rearrangements, concatenation and splitting."""
