"""Functions of single elements: arithmetic, comparison, logic, activations, special functions."""
