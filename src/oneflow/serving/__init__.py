"""A server for saved graphs that speaks the Open Inference Protocol, and a backend for Triton."""
