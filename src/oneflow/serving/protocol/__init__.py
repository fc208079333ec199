"""The messages of the Open Inference Protocol, version 2, with the extensions of Triton."""
