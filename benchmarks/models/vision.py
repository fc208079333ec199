"""Models of flowvision on OneFlow; their twins of torchvision and timm on PyTorch."""

from benchmarks.models.training import Training, eager_step


def import_torchvision(torch):
    """Import torchvision, also where its build lacks the library with its operators.

    Such a build wants the schemas of some when it is imported. timm imports it, too.
    """
    library = torch.library.Library("torchvision", "FRAGMENT")
    for operator in ("nms", "qnms"):
        if not hasattr(torch.ops.torchvision, operator):
            library.define(f"{operator}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    import torchvision

    return torchvision


def make_twin(torch, package, name):
    """The model of torchvision or timm with this name."""
    torchvision = import_torchvision(torch)
    if package == "torchvision":
        return torchvision.models.get_model(name)
    import timm

    return timm.create_model(name)


def build(library, name, twin, batch=8, size=224, make_step=eager_step):
    """A training step; see `mlp.build`.

    Args:
        library: OneFlow or PyTorch.
        name: of the model in flowvision.
        twin: the package and the name of the same model for PyTorch.
        batch: the number of images.
        size: height and width of an image.
        make_step: how it is run.
    """
    if library.__name__ == "oneflow":
        from flowvision.models import ModelCreator

        model = ModelCreator.create_model(name)
    else:
        model = make_twin(library, *twin)
    criterion = library.nn.CrossEntropyLoss()
    optimizer = library.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    images = library.randn(batch, 3, size, size)
    labels = library.randint(0, 1000, (batch,))

    def loss_of(model, images, labels):
        return criterion(model(images), labels)

    return make_step(Training(model, loss_of, optimizer, (images, labels)))
