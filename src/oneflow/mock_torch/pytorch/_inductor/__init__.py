"""``torch._inductor``: settings of a compiler, whose place XLA takes."""
