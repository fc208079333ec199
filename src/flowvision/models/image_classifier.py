"""The common parts of networks for image classification with a linear last layer."""

from __future__ import annotations

from abc import abstractmethod

from oneflow import Tensor, nn


class ImageClassifier(nn.Module):
    """A network that turns an image into features, and features into the scores of classes.

    Input (N, in_chans, H, W), output (N, num_classes). A subclass sets `head`.

    Attributes:
        head: the last layer, from features to scores.
        num_features: the number of features.
    """

    head: nn.Module
    num_features: int

    @abstractmethod
    def forward_features(self, x: Tensor) -> Tensor:
        """Return the features of images, of shape (N, num_features)."""

    def get_classifier(self) -> nn.Module:
        """Return the last layer."""
        return self.head

    def reset_classifier(self, num_classes: int, global_pool: str = "") -> None:
        """Replace the last layer by a fresh one; with 0 classes the output is the features.

        Args:
            num_classes: the number of classes.
            global_pool: only "", as a model's pooling stays.

        Raises:
            ValueError: if `global_pool` names another pooling.
        """
        if global_pool:
            raise ValueError(f"`global_pool` cannot be changed, got {global_pool!r}")
        self.head = make_head(self.num_features, num_classes)

    def no_weight_decay(self) -> set[str]:
        """Return the names of the parameters that optimizers should not let decay."""
        names = {name for name, _ in self.named_parameters()}
        return names & {"pos_embed", "cls_token", "dist_token"}

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.forward_features(x))


def make_head(num_features: int, num_classes: int) -> nn.Module:
    """Return a linear map from features to scores, or nothing at all if there are 0 classes."""
    return nn.Linear(num_features, num_classes) if num_classes else nn.Identity()
