"""Embedding tables that are larger than memory: rows by key, in memory or on disk.

Rows lie in a store of the host (`row_store.py`), one store per process. A forward pass reads the
rows that it needs and makes one leaf tensor of them; `EmbeddingOptimizer` gives those rows, their
gradients and their states to an ordinary optimizer, and writes what it returns to the store. So no
formula of an optimizer is written twice. A hash of a key says which process has its row
(`exchange.py`).
"""
