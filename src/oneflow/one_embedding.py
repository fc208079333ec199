"""Embedding tables in a store that may be larger than memory, and their optimizers."""

from oneflow.nn.one_embedding.embedding import (
    MultiTableEmbedding as Embedding,
    MultiTableEmbedding as MultiTableEmbedding,
    MultiTableMultiColumnEmbedding as MultiTableMultiColumnEmbedding,
)
from oneflow.nn.one_embedding.optimizer import EmbeddingOptimizer as Optimizer
from oneflow.nn.one_embedding.options import (
    make_cached_host_mem_store_options as make_cached_host_mem_store_options,
    make_cached_ssd_store_options as make_cached_ssd_store_options,
    make_column_options as make_column_options,
    make_constant_initializer as make_constant_initializer,
    make_device_mem_store_options as make_device_mem_store_options,
    make_normal_initializer as make_normal_initializer,
    make_table_options as make_table,
    make_table_options as make_table_options,
    make_trunc_normal_initializer as make_trunc_normal_initializer,
    make_uniform_initializer as make_uniform_initializer,
)
from oneflow.nn.one_embedding.row_update import SmartDecayAdam as SmartDecayAdam
from oneflow.nn.one_embedding.snapshot import (
    make_persistent_table_reader as make_persistent_table_reader,
    make_persistent_table_writer as make_persistent_table_writer,
)
from oneflow.optim.ftrl import Ftrl as Ftrl
