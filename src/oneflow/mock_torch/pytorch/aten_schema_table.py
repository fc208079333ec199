"""The rows of operators: their overloads and parameters, as `aten_schemas` reads them."""

_UNARY = """
abs acos acosh angle asin asinh atan atanh bitwise_not ceil cos cosh deg2rad digamma erf erfc erfinv
exp exp2 expm1 floor frac isnan isinf isneginf isposinf lgamma log log10 log1p log2 logical_not neg
positive rad2deg reciprocal relu rsqrt sgn sigmoid sign signbit sin sinc sinh sqrt square tan tanh
trunc silu mish hardswish hardsigmoid log_sigmoid t detach alias nonzero inverse isfinite isreal
zero lift_fresh i0 linalg_det linalg_inv cholesky_inverse
"""
_COMPARISONS = "eq ne lt le gt ge"
_BITWISE = "bitwise_and bitwise_or bitwise_xor"
_BINARY = """
maximum minimum atan2 hypot logaddexp logaddexp2 fmax fmin logical_and logical_or logical_xor
nextafter gcd lcm heaviside copysign mm bmm mv dot outer
"""
_LIKE = "zeros_like ones_like empty_like rand_like randn_like"
_FACTORIES = "zeros ones rand randn"
_OPTIONS = "*, dtype=None, layout=None, device=None, pin_memory=None"
_MIN_MAX = "max min"
_SUMS = "argmax argmin"

SCHEMAS = f"""
add.Tensor(T self, O other, *, alpha=1)
sub.Tensor(T self, O other, *, alpha=1)
rsub.Scalar(T self, N other, N alpha=1)
rsub.Tensor(T self, T other, *, alpha=1)
mul.Tensor(T self, O other)
mul.Scalar(T self, N other)
div.Tensor(T self, O other)
div.Tensor_mode(T self, O other, *, rounding_mode)
div.Scalar(T self, N other)
sub.Scalar(T self, N other, N alpha=1)
add.Scalar(T self, N other, N alpha=1)
floor_divide.default(T self, O other)
remainder.Scalar(T self, N other)
remainder.Tensor(T self, T other)
fmod.Scalar(T self, N other)
fmod.Tensor(T self, T other)
pow.Tensor_Scalar(T self, N exponent)
pow.Tensor_Tensor(T self, T exponent)
pow.Scalar(N self, T exponent)
addcmul.default(T self, T tensor1, T tensor2, *, value=1)
addcdiv.default(T self, T tensor1, T tensor2, *, value=1)
lerp.Scalar(T self, T end, N weight)
lerp.Tensor(T self, T end, T weight)
clamp.default(T self, N? min=None, N? max=None)
clamp.Tensor(T self, T? min=None, T? max=None)
clamp_min.default(T self, N min)
clamp_max.default(T self, N max)
where.self(T condition, T self, T other)
masked_fill.Scalar(T self, T mask, N value)
masked_fill.Tensor(T self, T mask, T value)
masked_select.default(T self, T mask)
round.default(T self)
round.decimals(T self, *, I decimals)
nan_to_num.default(T self, nan=None, posinf=None, neginf=None)
gelu.default(T self, *, approximate='none')
leaky_relu.default(T self, N negative_slope=0.01)
elu.default(T self, N alpha=1, N scale=1, N input_scale=1)
softplus.default(T self, N beta=1, N threshold=20)
hardtanh.default(T self, N min_val=-1, N max_val=1)
threshold.default(T self, N threshold, N value)
glu.default(T self, I dim=-1)
addmm.default(T self, T mat1, T mat2, *, beta=1, alpha=1)
baddbmm.default(T self, T batch1, T batch2, *, beta=1, alpha=1)
addmv.default(T self, T mat, T vec, *, beta=1, alpha=1)
view.default(T self, V size)
view.dtype(T self, dtype)
_unsafe_view.default(T self, V size)
transpose.int(T self, I dim0, I dim1)
permute.default(T self, V dims)
expand.default(T self, V size, *, implicit=False)
unsqueeze.default(T self, I dim)
squeeze.default(T self)
squeeze.dim(T self, I dim)
squeeze.dims(T self, L dim)
select.int(T self, I dim, I index)
slice.Tensor(T self, I dim=0, I? start=None, I? end=None, I step=1)
as_strided.default(T self, L size, L stride, I? storage_offset=None)
unfold.default(T self, I dimension, I size, I step)
diagonal.default(T self, I offset=0, I dim1=0, I dim2=1)
split.Tensor(T self, I split_size, I dim=0)
split_with_sizes.default(T self, L split_sizes, I dim=0)
unbind.int(T self, I dim=0)
cat.default(M tensors, I dim=0)
stack.default(M tensors, I dim=0)
repeat.default(T self, V repeats)
flip.default(T self, V dims)
roll.default(T self, L shifts, L dims=[])
tril.default(T self, I diagonal=0)
triu.default(T self, I diagonal=0)
gather.default(T self, I dim, T index, *, sparse_grad=False)
scatter.src(T self, I dim, T index, T src)
scatter.value(T self, I dim, T index, N value)
scatter_add.default(T self, I dim, T index, T src)
index.Tensor(T self, M indices)
index_put.default(T self, M indices, T values, accumulate=False)
index_select.default(T self, I dim, T index)
index_add.default(T self, I dim, T index, T source, *, alpha=1)
index_copy.default(T self, I dim, T index, T source)
index_fill.int_Scalar(T self, I dim, T index, N value)
index_fill.int_Tensor(T self, I dim, T index, T value)
im2col.default(T self, L kernel_size, L dilation, L padding, L stride)
col2im.default(T self, L output_size, L kernel_size, L dilation, L padding, L stride)
clone.default(T self, *, memory_format=None)
copy_.default(T self, T src, non_blocking=False)
fill.Scalar(T self, N value)
fill.Tensor(T self, T value)
_to_copy.default(T self, *, dtype=None, layout=None, device=None, pin_memory=None, \
memory_format=None)
constant_pad_nd.default(T self, L pad, N value=0)
sum.default(T self, *, dtype=None)
sum.dim_IntList(T self, L? dim, keepdim=False, *, dtype=None)
mean.default(T self, *, dtype=None)
mean.dim(T self, L? dim, keepdim=False, *, dtype=None)
prod.default(T self, *, dtype=None)
prod.dim_int(T self, I dim, keepdim=False, *, dtype=None)
amax.default(T self, L dim=[], keepdim=False)
amin.default(T self, L dim=[], keepdim=False)
any.default(T self)
any.dim(T self, I dim, keepdim=False)
any.dims(T self, L? dim, keepdim=False)
all.default(T self)
all.dim(T self, I dim, keepdim=False)
all.dims(T self, L? dim, keepdim=False)
var.correction(T self, L? dim=None, *, correction=None, keepdim=False)
std.correction(T self, L? dim=None, *, correction=None, keepdim=False)
linalg_vector_norm.default(T self, N ord=2, L? dim=None, keepdim=False, *, dtype=None)
cumsum.default(T self, I dim, *, dtype=None)
cumprod.default(T self, I dim, *, dtype=None)
logsumexp.default(T self, L dim, keepdim=False)
_softmax.default(T self, I dim, half_to_float)
_log_softmax.default(T self, I dim, half_to_float)
sort.default(T self, I dim=-1, descending=False)
sort.stable(T self, *, stable, I dim=-1, descending=False)
topk.default(T self, I k, I dim=-1, largest=True, sorted=True)
argsort.default(T self, I dim=-1, descending=False)
native_layer_norm.default(T input, L normalized_shape, T? weight, T? bias, eps)
native_batch_norm.default(T input, T? weight, T? bias, T? running_mean, T? running_var, \
training, momentum, eps)
native_dropout.default(T input, p, train)
native_dropout_backward.default(T grad_output, T mask, scale)
embedding.default(T weight, T indices, I padding_idx=-1, scale_grad_by_freq=False, sparse=False)
convolution.default(T input, T weight, T? bias, L stride, L padding, L dilation, transposed, \
L output_padding, I groups)
max_pool2d_with_indices.default(T self, L kernel_size, L stride=[], L padding=0, L dilation=1, \
ceil_mode=False)
avg_pool2d.default(T self, L kernel_size, L stride=[], L padding=0, ceil_mode=False, \
count_include_pad=True, divisor_override=None)
mse_loss.default(T self, T target, I reduction=1)
nll_loss_forward.default(T self, T target, T? weight, I reduction, I ignore_index)
binary_cross_entropy_with_logits.default(T self, T target, T? weight=None, T? pos_weight=None, \
I reduction=1)
binary_cross_entropy.default(T self, T target, T? weight=None, I reduction=1)
smooth_l1_loss.default(T self, T target, I reduction=1, N beta=1.0)
huber_loss.default(T self, T target, I reduction=1, N delta=1.0)
full.default(V size, N fill_value, {_OPTIONS})
full_like.default(T self, N fill_value, {_OPTIONS}, memory_format=None)
empty.memory_format(V size, {_OPTIONS}, memory_format=None)
new_zeros.default(T self, V size, {_OPTIONS})
new_ones.default(T self, V size, {_OPTIONS})
new_empty.default(T self, V size, {_OPTIONS})
new_full.default(T self, V size, N fill_value, {_OPTIONS})
arange.default(N end, {_OPTIONS})
arange.start(N start, N end, {_OPTIONS})
arange.start_step(N start, N end, N step, {_OPTIONS})
scalar_tensor.default(N s, {_OPTIONS})
_local_scalar_dense.default(T self)
tanh_backward.default(T grad_output, T output)
sigmoid_backward.default(T grad_output, T output)
threshold_backward.default(T grad_output, T self, N threshold)
_softmax_backward_data.default(T grad_output, T output, I dim, input_dtype)
_log_softmax_backward_data.default(T grad_output, T output, I dim, input_dtype)
select_backward.default(T grad_output, L input_sizes, I dim, I index)
slice_backward.default(T grad_output, L input_sizes, I dim, I start, I end, I step)
embedding_dense_backward.default(T grad_output, T indices, I num_weights, I padding_idx, \
scale_grad_by_freq)
nll_loss_backward.default(T grad_output, T self, T target, T? weight, I reduction, \
I ignore_index, T total_weight)
""" + "\n".join(
    [
        *(f"{name}.default(T self)" for name in _UNARY.split()),
        *(
            f"{name}.{kind}(T self, {char} other)"
            for name in (*_COMPARISONS.split(), *_BITWISE.split())
            for kind, char in (("Scalar", "N"), ("Tensor", "T"))
        ),
        *(f"{name}.default(T self, T other)" for name in _BINARY.split()),
        *(f"{name}.default(T self, {_OPTIONS}, memory_format=None)" for name in _LIKE.split()),
        *(f"{name}.default(V size, {_OPTIONS})" for name in _FACTORIES.split()),
        *(
            row
            for name in _MIN_MAX.split()
            for row in (
                f"{name}.default(T self)",
                f"{name}.dim(T self, I dim, keepdim=False)",
            )
        ),
        *(f"{name}.default(T self, I? dim=None, keepdim=False)" for name in _SUMS.split()),
    ]
)
