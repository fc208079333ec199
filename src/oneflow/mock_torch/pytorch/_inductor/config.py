"""Settings of PyTorch's code generator: accepted, and without effect."""

from types import SimpleNamespace

from oneflow.mock_torch.pytorch.compiler_settings import patching

allow_buffer_reuse = True
aot_inductor = SimpleNamespace()
compile_threads = 1
conv_1x1_as_mm = False
coordinate_descent_check_all_directions = False
coordinate_descent_tuning = False
cpp = SimpleNamespace()
cpp_wrapper = False
debug = False
epilogue_fusion = True
force_fuse_int_mm_with_mul = False
freezing = False
fx_graph_cache = True
max_autotune = False
max_autotune_gemm = False
max_autotune_gemm_backends = "ATEN,TRITON,CPP"
reorder_for_compute_comm_overlap = False
shape_padding = True
trace = SimpleNamespace()
triton = SimpleNamespace(cudagraphs=False, cudagraph_trees=True, unique_kernel_names=True)
use_mixed_mm = True
patch = patching("torch._inductor.config")
