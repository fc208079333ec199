"""Distributions of both libraries: arguments by class, and values to compare them at."""

import numpy as np

_SCALE, _COLUMN = [0.4, 2.5], [[1.0], [2.0], [0.3]]
# Arguments by class, and what follows the class to tell several apart.
PARAMETERS = {
    "Normal": {"loc": [0.5, -1.0], "scale": _COLUMN},
    "Uniform": {"low": [0.0, -1.0], "high": [[1.0], [2.0], [3.0]]},
    "Bernoulli": {"probs": [0.2, 0.7]},
    "Bernoulli logits": {"logits": [0.2, -1.7]},
    "Categorical": {"probs": [[0.2, 0.7, 0.4], [1.0, 0.0, 3.0]]},
    "Categorical logits": {"logits": [[0.2, 0.7, 0.4], [1.0, float("-inf"), 3.0]]},
    "Exponential": {"rate": _SCALE},
    "Laplace": {"loc": [0.5, -1.0], "scale": _COLUMN},
    "Cauchy": {"loc": [0.5, -1.0], "scale": _COLUMN},
    "Gumbel": {"loc": [0.5, -1.0], "scale": _COLUMN},
    "HalfNormal": {"scale": _SCALE},
    "HalfCauchy": {"scale": _SCALE},
    "LogNormal": {"loc": [0.5, -1.0], "scale": _COLUMN},
    "Weibull": {"scale": _SCALE, "concentration": [[1.2], [3.0]]},
    "Pareto": {"scale": [0.1, 0.2], "alpha": [[0.9], [1.5], [4.0]]},
    "Kumaraswamy": {"concentration1": [0.8, 3.0], "concentration0": [[2.0], [1.5]]},
    "Gamma": {"concentration": [0.3, 1.0, 7.0], "rate": [[2.0], [0.5]]},
    "Chi2": {"df": [0.5, 4.0]},
    "InverseGamma": {"concentration": [0.8, 1.5, 3.0], "rate": [[2.0], [0.5]]},
    "Beta": {"concentration1": [0.5, 3.0], "concentration0": [[2.0], [1.5]]},
    "Dirichlet": {"concentration": [[0.5, 1.0, 3.0], [0.5, 0.3, 0.4]]},
    "StudentT": {"df": [0.8, 1.5, 5.0], "loc": [[0.5], [-1.0]], "scale": [2.0]},
    "FisherSnedecor": {"df1": [1.0, 5.0], "df2": [[1.5], [3.0], [9.0]]},
    "Poisson": {"rate": [0.5, 30.0]},
    "Geometric": {"probs": [0.2, 0.7]},
    "Geometric logits": {"logits": [0.2, -1.7]},
    "Binomial": {"total_count": [5.0], "probs": [0.2, 0.7]},
    "Binomial logits": {"total_count": [5.0], "logits": [[0.2], [-0.7]]},
    "NegativeBinomial": {"total_count": [1.0, 5.0], "probs": [[0.2], [0.7]]},
    "OneHotCategorical": {"probs": [[0.2, 0.7, 0.4], [1.0, 0.0, 3.0]]},
    "Multinomial": {"total_count": 3, "probs": [[0.2, 0.7, 0.4], [1.0, 0.5, 3.0]]},
    "MultivariateNormal": {
        "loc": [[0.5, -1.0], [0.0, 1.0]],
        "covariance_matrix": [[2.0, 0.5], [0.5, 1.0]],
    },
    "MultivariateNormal precision": {
        "loc": [0.5, -1.0],
        "precision_matrix": [[2.0, 0.5], [0.5, 1.0]],
    },
    "MultivariateNormal factor": {"loc": [0.5, -1.0], "scale_tril": [[2.0, 0.0], [0.5, 1.0]]},
    "LowRankMultivariateNormal": {
        "loc": [[0.5, -1.0], [0.0, 1.0]],
        "cov_factor": [[2.0], [0.5]],
        "cov_diag": [0.5, 1.0],
    },
    "ContinuousBernoulli": {"probs": [0.2, 0.5, 0.4995, 0.97]},
    "ContinuousBernoulli logits": {"logits": [0.2, -1.7, 0.0]},
    "GeneralizedPareto": {
        "loc": [0.1, -1.0],
        "scale": [[2.0], [3.0], [1.5]],
        "concentration": [[-0.4], [0.3], [1.2]],
    },
    "GeneralizedPareto exponential": {"loc": [0.1], "scale": [2.0], "concentration": [0.0]},
    "VonMises": {"loc": [0.5, -1.0], "concentration": [[2.0], [0.1], [30.0]]},
    "LogisticNormal": {"loc": [[0.5, -1.0], [0.0, 1.0]], "scale": [2.0, 0.5]},
    "RelaxedBernoulli": {"temperature": [0.7], "probs": [0.2, 0.7]},
    "RelaxedBernoulli logits": {"temperature": [0.7], "logits": [0.2, -1.7]},
    "RelaxedOneHotCategorical": {
        "temperature": [0.7],
        "probs": [[0.2, 0.7, 0.4], [1.0, 1.0, 3.0]],
    },
    "OneHotCategoricalStraightThrough": {"logits": [0.2, 0.7, 0.4]},
    "LKJCholesky": {"dim": 3, "concentration": [0.7, 2.0]},
    "Wishart": {"df": [4.0, 2.5], "covariance_matrix": [[2.0, 0.5], [0.5, 1.0]]},
    "Wishart precision": {"df": 3.5, "precision_matrix": [[2.0, 0.5], [0.5, 1.0]]},
    "Wishart factor": {"df": 5.0, "scale_tril": [[2.0, 0.0], [0.5, 1.0]]},
}
# Values by class, in place of these.
SOME = [0.3, 0.9]
VALUES = {
    "Bernoulli": [1.0, 0.0],
    "Categorical": [2, 0],
    "Gamma": [[0.3], [0.9]],
    "InverseGamma": [[0.3], [0.9]],
    "StudentT": [[0.3], [0.9]],
    "Dirichlet": [0.2, 0.3, 0.5],
    "Poisson": [0.0, 25.0],
    "Geometric": [0.0, 3.0],
    "Binomial": [1.0, 4.0],
    "NegativeBinomial": [0.0, 7.0],
    "OneHotCategorical": [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]],
    "Multinomial": [[1.0, 2.0, 0.0], [0.0, 0.0, 3.0]],
    "OneHotCategoricalStraightThrough": [0.0, 1.0, 0.0],
    "ContinuousBernoulli": [0.3],
    "LogisticNormal": [0.2, 0.3, 0.5],
    "RelaxedOneHotCategorical": [0.2, 0.3, 0.5],
    "LKJCholesky": [[1.0, 0.0, 0.0], [0.6, 0.8, 0.0], [0.3, -0.2, 0.9327379053088815]],
    "Wishart": [[2.0, 0.5], [0.5, 3.0]],
}


# PyTorch computes these in float32 only.
_SINGLE = ("GeneralizedPareto", "GeneralizedPareto exponential")


def tensors(lib, numbers, dtype="float64"):
    """Lists as tensors, those of floats of `dtype`; all else as it is."""
    return {
        name: lib.tensor(
            number, dtype=getattr(lib, dtype) if np.asarray(number).dtype.kind == "f" else None
        )
        if isinstance(number, list)
        else number
        for name, number in numbers.items()
    }


def parameters(lib, key):
    """The parameters of a key of `PARAMETERS`."""
    return tensors(lib, PARAMETERS[key], "float32" if key in _SINGLE else "float64")


def make(lib, key):
    """The distribution of a key of `PARAMETERS`."""
    return getattr(lib.distributions, key.split()[0])(**parameters(lib, key))


def values(lib, key):
    """Values to compare the distributions of a key at."""
    numbers = {"values": VALUES.get(key.split()[0], SOME)}
    return tensors(lib, numbers, "float32" if key in _SINGLE else "float64")["values"]


def assert_close(ours, theirs, rtol=1e-6, atol=1e-7):
    assert tuple(ours.shape) == tuple(theirs.shape)
    theirs = theirs.detach().numpy()
    single = theirs.dtype == np.float32
    np.testing.assert_allclose(
        ours.detach().numpy(), theirs, rtol=max(rtol, 1e-5 * single), atol=max(atol, 1e-6 * single)
    )
