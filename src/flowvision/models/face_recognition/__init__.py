"""Networks that embed faces."""

from flowvision.models.face_recognition.ir_resnet import (
    IBasicBlock as IBasicBlock,
    IResNet as IResNet,
    iresnet50 as iresnet50,
    iresnet101 as iresnet101,
)
