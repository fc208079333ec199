"""Long decompositions, imported when an export first meets something that they write."""
