"""In-place forms as functions: ``oneflow.sin_(x)`` is ``x.sin_()``."""

from __future__ import annotations

import oneflow.functional.elementwise.arithmetic
import oneflow.functional.elementwise.binary
import oneflow.functional.elementwise.clamp
import oneflow.functional.elementwise.comparison
import oneflow.functional.elementwise.complex
import oneflow.functional.elementwise.division
import oneflow.functional.elementwise.logic
import oneflow.functional.elementwise.rounding
import oneflow.functional.elementwise.special
import oneflow.functional.elementwise.trigonometry
import oneflow.functional.elementwise.unary
import oneflow.functional.reduce.cumulative
from oneflow.tensor.tensor import Tensor

abs_ = Tensor.abs_
acos_ = Tensor.acos_
acosh_ = Tensor.acosh_
arccos_ = Tensor.arccos_
arccosh_ = Tensor.arccosh_
arcsin_ = Tensor.arcsin_
arcsinh_ = Tensor.arcsinh_
arctan_ = Tensor.arctan_
arctanh_ = Tensor.arctanh_
asin_ = Tensor.asin_
asinh_ = Tensor.asinh_
atan_ = Tensor.atan_
atanh_ = Tensor.atanh_
ceil_ = Tensor.ceil_
clamp_ = Tensor.clamp_
clamp_max_ = Tensor.clamp_max_
clamp_min_ = Tensor.clamp_min_
clip_ = Tensor.clip_
conj_physical_ = Tensor.conj_physical_
cos_ = Tensor.cos_
cosh_ = Tensor.cosh_
deg2rad_ = Tensor.deg2rad_
div_ = Tensor.div_
erf_ = Tensor.erf_
erfc_ = Tensor.erfc_
erfinv_ = Tensor.erfinv_
exp2_ = Tensor.exp2_
exp_ = Tensor.exp_
expm1_ = Tensor.expm1_
fix_ = Tensor.fix_
floor_ = Tensor.floor_
frac_ = Tensor.frac_
gcd_ = Tensor.gcd_
gt_ = Tensor.gt_
i0_ = Tensor.i0_
lcm_ = Tensor.lcm_
ldexp_ = Tensor.ldexp_
lerp_ = Tensor.lerp_
log10_ = Tensor.log10_
log1p_ = Tensor.log1p_
log2_ = Tensor.log2_
log_ = Tensor.log_
logit_ = Tensor.logit_
nan_to_num_ = Tensor.nan_to_num_
neg_ = Tensor.neg_
negative_ = Tensor.negative_
rad2deg_ = Tensor.rad2deg_
reciprocal_ = Tensor.reciprocal_
round_ = Tensor.round_
rsqrt_ = Tensor.rsqrt_
sin_ = Tensor.sin_
sinc_ = Tensor.sinc_
sinh_ = Tensor.sinh_
sqrt_ = Tensor.sqrt_
square_ = Tensor.square_
tan_ = Tensor.tan_
trunc_ = Tensor.trunc_
xlogy_ = Tensor.xlogy_
