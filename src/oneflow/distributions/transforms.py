"""Transforms of values, under the path of PyTorch."""

from oneflow.distributions.elementwise_transforms import (
    AbsTransform as AbsTransform,
    AffineTransform as AffineTransform,
    CumulativeDistributionTransform as CumulativeDistributionTransform,
    ExpTransform as ExpTransform,
    PowerTransform as PowerTransform,
    SigmoidTransform as SigmoidTransform,
    SoftplusTransform as SoftplusTransform,
    TanhTransform as TanhTransform,
)
from oneflow.distributions.joint_transforms import (
    CatTransform as CatTransform,
    ReshapeTransform as ReshapeTransform,
    StackTransform as StackTransform,
)
from oneflow.distributions.transform import (
    ComposeTransform as ComposeTransform,
    IndependentTransform as IndependentTransform,
    Transform as Transform,
    identity_transform as identity_transform,
)
from oneflow.distributions.vector_transforms import (
    CorrCholeskyTransform as CorrCholeskyTransform,
    LowerCholeskyTransform as LowerCholeskyTransform,
    PositiveDefiniteTransform as PositiveDefiniteTransform,
    SoftmaxTransform as SoftmaxTransform,
    StickBreakingTransform as StickBreakingTransform,
)
