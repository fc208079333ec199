"""Public functions: one per operator, composed of primitives, with its documentation."""
