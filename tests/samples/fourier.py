"""Fourier transforms, of whole signals and of stretches, and windows."""

from tests.samples.table import Operator, case, dtype, tensor

_LINE, _PLANE, _SPACE = tensor(6), tensor(3, 4), tensor(2, 3, 4)
_REAL, _BOTH = ("float64", "float32"), ("float64", "float32", "complex128", "complex64")
_BAD_NORM, _HALF = case(_LINE, norm="none"), case(tensor(4, dtype="float16"))
_COMPLEX = tensor(6, dtype="complex128")


def _along_one(name, dtypes):
    """Transforms along one dimension."""
    refused = [case(_COMPLEX)] if dtypes is _REAL else []
    return Operator(
        f"fft.{name}",
        cases=[
            case(_LINE),
            case(_PLANE, 5, 0),
            case(_PLANE, n=3, norm="ortho"),
            case(_SPACE, dim=1, norm="forward"),
            case(tensor(5, dtype="int64")),
        ],
        dtypes=dtypes,
        errors=[_BAD_NORM, _HALF, case(_LINE, 0), case(_LINE, dim=1), case(1.0), *refused],
        tolerance=20,
    )


def _along_many(name, dtypes, dims):
    """Transforms along several dimensions, by default `dims` of them."""
    return Operator(
        f"fft.{name}",
        cases=[
            case(_SPACE),
            case(_SPACE, dim=(0, 1), norm="ortho"),
            case(_SPACE, (2, 5), (2, 1)),
            case(_SPACE, (-1, 3), dims, norm="forward"),
        ],
        dtypes=dtypes,
        errors=[
            case(_SPACE, dim=(1, 1)),
            case(_SPACE, (2, 2, 2), (0, 1)),
            case(_SPACE, (0, 1)),
            case(tensor(), dim=(0, 1)),
        ],
        second_grad=False,
        tolerance=20,
    )


TRANSFORMS = [
    *[_along_one(name, _BOTH) for name in ("fft", "ifft", "irfft", "hfft")],
    *[_along_one(name, _REAL) for name in ("rfft", "ihfft")],
    *[_along_many(name, _BOTH, (0, 2)) for name in ("fftn", "ifftn", "irfftn", "hfftn")],
    *[_along_many(name, _REAL, (0, 2)) for name in ("rfftn", "ihfftn")],
    *[_along_many(name, _BOTH, (-2, -1)) for name in ("fft2", "ifft2", "irfft2", "hfft2")],
    *[_along_many(name, _REAL, (-2, -1)) for name in ("rfft2", "ihfft2")],
    *[
        Operator(
            f"fft.{name}",
            cases=[case(_PLANE), case(tensor(5), 0), case(_SPACE, (0, 2)), case(_SPACE, dim=1)],
            dtypes=("float32", "int64", "complex64"),
        )
        for name in ("fftshift", "ifftshift")
    ],
    *[
        Operator(
            f"fft.{name}",
            cases=[case(4), case(5, 0.5), case(6, d=0.25, dtype=dtype("float64"))],
            vary_numbers=False,
        )
        for name in ("fftfreq", "rfftfreq")
    ],
]


def _transformed(lib, x, *args, **kwargs):
    return lib.stft(x, *args, return_complex=True, **kwargs)


def _there_and_back(lib, x, n, *args, **kwargs):
    """The signal made of its own transforms; sizes of stretches may be given for both."""
    return lib.istft(lib.stft(x, n, *args, return_complex=True, **kwargs), n, *args, **kwargs)


_SIGNAL, _WINDOW = tensor(2, 20), tensor(6, low=0.5, grad=False)
SHORT_TIME = [
    Operator(
        "stft_of_complex_numbers",
        cases=[
            case(_SIGNAL, 6),
            case(tensor(20), 6, 2, 5, tensor(5)),
            case(_SIGNAL, 7, center=False, normalized=True),
            case(_SIGNAL, 6, onesided=False, pad_mode="constant"),
            case(tensor(20, dtype="complex128"), 6, window=_WINDOW),
        ],
        dtypes=_REAL,
        errors=[
            case(_SIGNAL, 30, center=False),
            case(_SIGNAL, 6, 0),
            case(_SIGNAL, 6, win_length=7),
            case(_SIGNAL, 6, window=tensor(5)),
            case(_SPACE, 2),
            case(tensor(20, dtype="complex128"), 6, onesided=True),
        ],
        call=_transformed,
        tolerance=20,
    ),
    Operator(
        "stft",
        dtypes=_REAL,
        cases=[case(_SIGNAL, 6, return_complex=False)],
        tolerance=20,
    ),
    Operator(
        "istft",
        cases=[
            case(tensor(4, 8, dtype="complex128"), 6),
            case(tensor(2, 4, 8, dtype="complex128"), 6, 2, length=13),
            case(tensor(6, 8, dtype="complex128"), 6, window=_WINDOW, onesided=False),
            case(tensor(6, 8, dtype="complex128"), 6, onesided=False, return_complex=True),
            case(tensor(4, 8, dtype="complex128"), 6, center=False, normalized=True),
            case(tensor(4, 8, dtype="complex128"), 6, length=40),
        ],
        dtypes=("float64",),
        errors=[
            case(tensor(5, 8, dtype="complex128"), 6),
            case(tensor(4, 8, dtype="complex128"), 6, 7),
            case(tensor(4, 8, dtype="complex128"), 6, return_complex=True),
            case(tensor(4, 0, dtype="complex128"), 6),
            case(
                tensor(4, 8, dtype="complex128"),
                6,
                6,
                window=tensor(6, values=[0.0, 0.0, 0.0, 0.0, 1.0, 1.0]),
            ),
        ],
        tolerance=20,
    ),
    Operator(
        "istft_of_stft",
        cases=[case(_SIGNAL, 8, 2), case(tensor(24), 8, window=tensor(8, low=0.5, grad=False))],
        dtypes=_REAL,
        call=_there_and_back,
        second_grad=False,
        tolerance=20,
    ),
]


def _of_lengths(name, *more):
    """Windows of no, one and several elements."""
    return Operator(
        name,
        cases=[case(6), case(0), case(1), *more],
        errors=[case(-1), case(4, dtype=dtype("int64"))],
        vary_numbers=False,
        tolerance=20,
    )


def _signal_window(name, *more, **kwargs):
    asymmetric = [case(length, sym=False, **kwargs) for length in (1, 5)]
    row = _of_lengths(f"signal.windows.{name}")
    cases = [case(*sample.args, **sample.kwargs, **kwargs) for sample in row.cases]
    double = case(4, dtype=dtype("float64"), **kwargs)
    return Operator(
        row.name,
        cases=[*cases, *asymmetric, double, *more],
        errors=[case(-1, **kwargs)],
        vary_numbers=False,
        tolerance=20,
    )


WINDOWS = [
    *[
        _of_lengths(f"{name}_window", case(5, False), case(4, dtype=dtype("float64")))
        for name in ("bartlett", "blackman", "hann")
    ],
    _of_lengths("hamming_window", case(5, False, 0.6), case(5, True, 0.5, 0.4)),
    _of_lengths("kaiser_window", case(5, False, 6.0), case(5, True, 0.0)),
    *[
        _signal_window(name)
        for name in ("bartlett", "blackman", "cosine", "hamming", "hann", "nuttall")
    ],
    _signal_window("general_cosine", a=[0.5, 0.3, 0.2]),
    _signal_window("general_hamming", case(5, alpha=0.7)),
    _signal_window("gaussian", case(5, std=2.0)),
    _signal_window("kaiser", case(5, beta=3.0)),
    _signal_window("exponential", case(5, tau=2.0), case(5, center=1.0, sym=False)),
]

OPERATORS = [*TRANSFORMS, *SHORT_TIME, *WINDOWS]
