"""Settings of the compiler of Python code: accepted, and without effect."""

from oneflow.mock_torch.pytorch.compiler_settings import patching

accumulated_cache_size_limit = accumulated_recompile_limit = 256
assume_static_by_default = True
automatic_dynamic_shapes = True
cache_size_limit = recompile_limit = 8
capture_dynamic_output_shape_ops = False
capture_scalar_outputs = False
compiled_autograd = False
dynamic_shapes = True
error_on_recompile = fail_on_recompile_limit_hit = False
force_parameter_static_shapes = True
guard_nn_modules = True
inline_inbuilt_nn_modules = True
optimize_ddp = True
specialize_int = False
suppress_errors = False
verbose = False
patch = patching("torch._dynamo.config")
