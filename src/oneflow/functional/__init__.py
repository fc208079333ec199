"""What users call: one function per operator, composed of primitives, with its documentation."""
