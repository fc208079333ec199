"""The focal loss under the names of the layers; see `flowvision.ops`."""

from flowvision.ops.focal_loss import sigmoid_focal_loss as sigmoid_focal_loss
