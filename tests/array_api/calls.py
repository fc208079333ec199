"""Calls of the array API's functions: expressions of `xp`, the namespace, and arrays by name.

Arrays: `f`, `d`, `c` (floats and complex numbers), `i`, `u`, `b` (integers and truth values) have
shape (2, 3, 4); `v`, `w`, `iv`, `bv` are vectors; `m`, `n` square matrices, `p` positive definite
ones, `r` of full rank and other shape; `e` is empty; `s` has no dimensions.
"""

from __future__ import annotations

import numpy as np

_random = np.random.default_rng(0)


def _normal(*shape: int) -> np.ndarray:
    return _random.standard_normal(shape).astype(np.float32)


_m = _normal(2, 3, 3)
ARRAYS = {
    "f": _normal(2, 3, 4),
    "d": _normal(2, 3, 4).astype(np.float64),
    "c": (_normal(2, 3, 4) + 1j * _normal(2, 3, 4)).astype(np.complex64),
    "i": _random.integers(-5, 6, (2, 3, 4)).astype(np.int32),
    "u": _random.integers(0, 200, (2, 3, 4)).astype(np.uint8),
    "b": _random.integers(0, 2, (2, 3, 4)).astype(bool),
    "v": _normal(5),
    "w": np.array([2.0, 1.0, 2.0, -0.0, 3.0], np.float32),
    "iv": np.array([3, -1, 3, 0, 7], np.int64),
    "bv": np.array([True, False, True]),
    "m": _m,
    "n": _normal(3, 3),
    "p": _m @ np.swapaxes(_m, -1, -2) + 3 * np.eye(3, dtype=np.float32),
    "r": _normal(2, 4, 3),
    "e": np.zeros((0, 3), np.float32),
    "s": np.array(2.5, np.float64),
    "nans": np.array([1.0, np.nan, np.inf, np.nan, -np.inf], np.float32),
}

CALLS = """
xp.arange(3)
xp.arange(2, 8, 3)
xp.arange(5, 2)
xp.arange(5, 2, -1)
xp.arange(0.5, 3)
xp.arange(3, dtype=xp.float64)
xp.asarray(1)
xp.asarray(1.5)
xp.asarray(True)
xp.asarray(2j)
xp.asarray([[1, 2], [3, 4]], dtype=xp.uint8)
xp.asarray(f, dtype=xp.float64)
xp.asarray(f, copy=True)
xp.eye(3)
xp.eye(2, 4, k=1)
xp.eye(3, k=-1, dtype=xp.int64)
xp.full((2, 3), 7)
xp.full(3, 1.5)
xp.full((), True)
xp.full((2,), 1j)
xp.full_like(f, 3)
xp.full_like(i, 3, dtype=xp.float64)
xp.linspace(0, 1, 5)
xp.linspace(0, 1, 5, endpoint=False)
xp.linspace(2.0, -3.0, 4, dtype=xp.float64)
xp.linspace(0, 1, 0)
xp.linspace(0, 1, 1)
xp.linspace(0, 2j, 3)
xp.ones(3)
xp.ones((2, 0), dtype=xp.int8)
xp.ones_like(c)
xp.zeros((2, 3))
xp.zeros(())
xp.zeros_like(u, dtype=xp.bool)
xp.empty((2, 3)) * 0 == xp.zeros((2, 3)) * 0
xp.empty_like(i).shape
xp.tril(f)
xp.tril(f, k=-1)
xp.triu(i, k=1)
xp.triu(b)
xp.meshgrid(v, w)
xp.meshgrid(v, w, v, indexing='ij')
xp.meshgrid(v)
xp.astype(f, xp.int32)
xp.astype(i, xp.bool)
xp.astype(b, xp.complex64)
xp.astype(f, xp.float32, copy=False)
xp.broadcast_arrays(f, xp.ones((3, 1)))
xp.broadcast_to(v, (2, 5))
xp.can_cast(xp.float32, xp.float64)
xp.can_cast(f, xp.float64)
xp.can_cast(xp.int64, xp.int32)
xp.can_cast(xp.uint8, xp.int8)
xp.can_cast(xp.int8, xp.int16)
xp.finfo(xp.float32).eps
xp.finfo(f).max
xp.finfo(xp.complex64).smallest_normal
xp.finfo(xp.float64).min
xp.finfo(xp.float64).bits
xp.iinfo(xp.int16).min
xp.iinfo(u).max
xp.isdtype(xp.float32, 'real floating')
xp.isdtype(xp.int8, ('bool', 'unsigned integer'))
xp.isdtype(xp.uint8, ('bool', 'unsigned integer'))
xp.isdtype(xp.complex64, 'numeric')
xp.isdtype(xp.bool, 'numeric')
xp.isdtype(xp.int32, xp.int32)
xp.isdtype(xp.int32, 'integral')
xp.isdtype(xp.int32, 'signed integer')
xp.isdtype(xp.float64, 'complex floating')
xp.ones(1, dtype=xp.result_type(f, d))
xp.ones(1, dtype=xp.result_type(f, s))
xp.ones(1, dtype=xp.result_type(xp.uint8, xp.int8))
xp.ones(1, dtype=xp.result_type(i, 1))
xp.ones(1, dtype=xp.result_type(f, 1j))
xp.ones(1, dtype=xp.result_type(d, c))
xp.concat([f, d])
xp.concat((i, i), axis=-1)
xp.concat([f, v], axis=None)
xp.concat([xp.asarray(1), xp.asarray(2)], axis=None)
xp.expand_dims(f, axis=0)
xp.expand_dims(f, axis=-1)
xp.expand_dims(f, axis=2)
xp.flip(f)
xp.flip(i, axis=1)
xp.flip(b, axis=(0, -1))
xp.moveaxis(f, 0, -1)
xp.moveaxis(f, (0, 1), (2, 0))
xp.permute_dims(f, (2, 0, 1))
xp.repeat(v, 2)
xp.repeat(f, 2, axis=1)
xp.repeat(f, xp.asarray([1, 0, 2]), axis=1)
xp.repeat(i, 3)
xp.reshape(f, (6, 4))
xp.reshape(f, (-1,))
xp.reshape(f, (4, -1), copy=True)
xp.reshape(f, (24,), copy=False)
xp.roll(f, 1)
xp.roll(f, 2, axis=1)
xp.roll(i, (1, -1), axis=(0, 2))
xp.squeeze(xp.ones((1, 3, 1)), 0)
xp.squeeze(xp.ones((1, 3, 1)), (0, 2))
xp.squeeze(xp.ones((1, 3, 1)), -1)
xp.stack([v, w])
xp.stack([v, w], axis=-1)
xp.stack([iv, xp.asarray([1, 2, 3, 4, 5], dtype=xp.int32)], axis=1)
xp.tile(f, (2, 1, 1, 2))
xp.tile(f, (2,))
xp.unstack(f, axis=1)
xp.unstack(v)
xp.argmax(f)
xp.argmax(f, axis=1)
xp.argmax(i, axis=-1, keepdims=True)
xp.argmin(f, keepdims=True)
xp.argmin(u, axis=0)
xp.argmax(nans)
xp.count_nonzero(i)
xp.count_nonzero(b, axis=(0, 2), keepdims=True)
xp.count_nonzero(c, axis=1)
xp.nonzero(i)
xp.nonzero(b)
xp.nonzero(v)
xp.searchsorted(xp.asarray([1.0, 2.0, 4.0]), f)
xp.searchsorted(xp.asarray([1, 2, 2, 4]), iv, side='right')
xp.searchsorted(xp.asarray([4, 1, 2]), iv, sorter=xp.asarray([1, 2, 0]))
xp.searchsorted(xp.asarray([1, 2, 2, 4]), 2)
xp.where(b, f, d)
xp.where(b, i, 1)
xp.where(b, 0.5, f)
xp.where(bv, xp.asarray(1.0), xp.asarray([1.0, 2.0, 3.0], dtype=xp.float64))
xp.isin(i, xp.asarray([1, 2], dtype=xp.int32))
xp.isin(iv, 3)
xp.take(f, xp.asarray([2, 0]), axis=1)
xp.take(v, xp.asarray([-1, 1]))
xp.take(f, xp.asarray([], dtype=xp.int64), axis=0)
xp.take_along_axis(f, xp.argsort(f), axis=-1)
xp.take_along_axis(f, xp.argsort(f, axis=0), axis=0)
xp.sort(f)
xp.sort(f, axis=0, descending=True)
xp.sort(w, stable=False)
xp.sort(i, axis=1)
xp.sort(nans)
xp.argsort(f, axis=1)
xp.argsort(iv)
xp.argsort(iv, descending=True)
xp.argsort(w, descending=True)
xp.unique_all(iv)
xp.unique_all(i)
xp.unique_counts(w)
xp.unique_counts(u)
xp.unique_inverse(iv)
xp.unique_inverse(i)
xp.unique_values(b)
xp.unique_values(nans)
xp.unique_counts(nans)
xp.unique_all(xp.asarray(3))
xp.unique_all(e)
xp.all(b)
xp.all(b, axis=1)
xp.all(u, axis=(0, 1), keepdims=True)
xp.all(e)
xp.any(i, axis=-1)
xp.any(f)
xp.any(e, axis=0)
xp.max(f)
xp.max(f, axis=(0, 2))
xp.max(i, axis=1, keepdims=True)
xp.max(nans)
xp.min(u)
xp.min(f, axis=-1)
xp.mean(f)
xp.mean(f, axis=1)
xp.mean(f, axis=(0, 1), keepdims=True)
xp.mean(f, axis=())
xp.mean(e)
xp.prod(f)
xp.prod(u, axis=0)
xp.prod(i, axis=(0, 2))
xp.prod(f, dtype=xp.float64)
xp.prod(e, axis=0)
xp.prod(i, axis=())
xp.sum(f)
xp.sum(u)
xp.sum(i, axis=1, dtype=xp.int64)
xp.sum(f, axis=(0, -1), keepdims=True)
xp.sum(c)
xp.sum(e, axis=1)
xp.sum(f, dtype=xp.float64)
xp.sum(i, axis=())
xp.sum(u, axis=(), keepdims=True)
xp.std(f)
xp.std(f, axis=1, correction=1.0)
xp.std(d, axis=(0, 2), keepdims=True)
xp.var(f)
xp.var(f, axis=0, correction=0.5)
xp.var(v, correction=1)
xp.cumulative_sum(v)
xp.cumulative_sum(f, axis=1)
xp.cumulative_sum(u, axis=-1)
xp.cumulative_sum(i, axis=0, include_initial=True)
xp.cumulative_sum(f, axis=2, dtype=xp.float64)
xp.cumulative_prod(v)
xp.cumulative_prod(i, axis=1)
xp.cumulative_prod(f, axis=-1, include_initial=True)
xp.diff(v)
xp.diff(f, axis=0)
xp.diff(i, n=2)
xp.diff(v, prepend=xp.asarray([1.0], dtype=xp.float32), append=xp.asarray([2.0], dtype=xp.float32))
xp.clip(f, -0.5, 0.5)
xp.clip(i, 0)
xp.clip(i, max=2)
xp.clip(f)
xp.clip(v, xp.asarray(-0.5, dtype=xp.float32), xp.abs(w) + 0.1)
xp.clip(u, 10, 20)
xp.matmul(f, r)
xp.matmul(n, m)
xp.matmul(n, xp.asarray([1.0, 2.0, 3.0]))
xp.matmul(v, w)
xp.matmul(i, xp.permute_dims(i, (0, 2, 1)))
xp.matrix_transpose(f)
xp.tensordot(f, f, axes=3)
xp.tensordot(f, r, axes=((0, 2), (0, 1)))
xp.tensordot(v, w, axes=0)
xp.vecdot(v, w)
xp.vecdot(f, d)
xp.vecdot(c, c, axis=-1)
xp.vecdot(f, f, axis=-2)
xp.vecdot(i, i)
xp.linalg.cholesky(p)
xp.linalg.cholesky(p, upper=True)
xp.linalg.cross(m, xp.flip(m))
xp.linalg.cross(m, n, axis=-2)
xp.linalg.det(m)
xp.linalg.diagonal(f)
xp.linalg.diagonal(f, offset=1)
xp.linalg.eigvalsh(p)
xp.linalg.eigh(p).eigenvalues
xp.linalg.inv(p)
xp.linalg.matmul(n, n)
xp.linalg.matrix_norm(f)
xp.linalg.matrix_norm(f, ord=1, keepdims=True)
xp.linalg.matrix_norm(f, ord='nuc')
xp.linalg.matrix_norm(f, ord=-2)
xp.linalg.matrix_norm(f, ord=float('inf'))
xp.linalg.matrix_power(n, 3)
xp.linalg.matrix_power(m, 0)
xp.linalg.matrix_power(n, -1)
xp.linalg.matrix_rank(m)
xp.linalg.matrix_rank(f, rtol=0.5)
xp.linalg.matrix_transpose(i)
xp.linalg.outer(v, w)
xp.linalg.pinv(f)
xp.linalg.pinv(f, rtol=0.3)
xp.abs(xp.linalg.qr(r).R)
xp.abs(xp.linalg.qr(r, mode='complete').R)
xp.linalg.slogdet(m).sign
xp.linalg.slogdet(m).logabsdet
xp.linalg.solve(n, xp.asarray([1.0, 2.0, 3.0]))
xp.linalg.solve(p, m)
xp.linalg.solve(p, n)
xp.linalg.svd(f, full_matrices=False).S
xp.linalg.svd(f).U.shape
xp.linalg.svd(f).Vh.shape
xp.linalg.svdvals(f)
xp.linalg.tensordot(n, n, axes=1)
xp.linalg.trace(f)
xp.linalg.trace(u, offset=1)
xp.linalg.trace(f, dtype=xp.float64)
xp.linalg.vecdot(v, w)
xp.linalg.vector_norm(f)
xp.linalg.vector_norm(f, axis=1)
xp.linalg.vector_norm(f, axis=(0, 2), keepdims=True)
xp.linalg.vector_norm(f, ord=1, axis=0)
xp.linalg.vector_norm(f, ord=0, axis=0)
xp.linalg.vector_norm(c, ord=float('inf'))
xp.linalg.vector_norm(f, ord=-float('inf'), keepdims=True)
xp.linalg.vector_norm(f, ord=3.5)
xp.fft.fft(c)
xp.fft.fft(c, n=6, axis=1, norm='ortho')
xp.fft.ifft(c, axis=0)
xp.fft.fftn(c)
xp.fft.fftn(c, axes=(0, 1), norm='forward')
xp.fft.fftn(c, s=(3, 2), axes=(0, 1))
xp.fft.ifftn(c, axes=(1, 2))
xp.fft.rfft(f)
xp.fft.rfft(f, n=3, axis=1)
xp.fft.irfft(c)
xp.fft.irfft(c, n=5, norm='ortho')
xp.fft.rfftn(f)
xp.fft.rfftn(f, axes=(0, 1))
xp.fft.irfftn(c, s=(3, 4), axes=(1, 2))
xp.fft.hfft(c, n=6)
xp.fft.ihfft(f)
xp.fft.fftfreq(5)
xp.fft.fftfreq(4, d=0.5)
xp.fft.rfftfreq(6)
xp.fft.fftshift(f)
xp.fft.fftshift(f, axes=1)
xp.fft.ifftshift(f, axes=(0, 2))
xp.pi
xp.e
f[xp.newaxis, 0, ...].shape
f[..., 1]
f[0, :, ::2]
f[1, ...]
f[b]
f[b[:, :, 0]]
v[xp.asarray([1, 0])]
f.mT
n.T
f.ndim
f.shape
f + 1
1 - f
i // 2
i % 3
2 ** xp.abs(i)
f @ r
~b
-f
abs(i)
i << 1
i & 3
f == f
f < 0.5
f / 2
float(s)
int(xp.asarray(3))
bool(xp.asarray(True))
complex(s)
""".strip().splitlines()

# What must raise, with the exception's class.
REFUSED = """
ValueError xp.squeeze(f, 0)
ValueError xp.linalg.matrix_transpose(v)
ValueError xp.asarray([1, 2], copy=False)
ValueError xp.asarray(f, dtype=xp.float64, copy=False)
ValueError xp.take(f, xp.asarray([0]))
ValueError xp.cumulative_sum(f)
ValueError xp.nonzero(s)
ValueError xp.isdtype(xp.int8, 'number')
ValueError f.__array_namespace__(api_version='1999.01')
TypeError xp.astype(c, xp.float32)
TypeError xp.add(1, 2)
TypeError xp.add(f, 'x')
IndexError xp.expand_dims(f, axis=5)
IndexError xp.expand_dims(f, axis=-5)
""".strip().splitlines()
