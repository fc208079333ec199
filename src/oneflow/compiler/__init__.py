"""From a program to an executable: JAX traces the plain evaluator, XLA compiles the trace."""
