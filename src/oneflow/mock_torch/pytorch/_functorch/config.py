"""Settings of PyTorch's compiler of gradients: accepted, and without effect."""

from oneflow.mock_torch.pytorch.compiler_settings import patching

activation_memory_budget = 1.0
aggressive_recomputation = False
ban_recompute_reductions = True
donated_buffer = False
enable_autograd_cache = True
functionalize_rng_ops = False
recompute_views = False
patch = patching("torch._functorch.config")
