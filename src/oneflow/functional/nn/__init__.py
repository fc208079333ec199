"""Neural network functions: convolution, pooling, normalization, attention, losses."""
