"""Export a network of Keras; runs in the environment of `requirements/x2oneflow/tensorflow.txt`.

``python export_tensorflow.py PACKAGE FACTORY SIZE FOLDER`` writes ``model.onnx`` and
``values.npz``: an input, the output, and the number of parameters.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf
from tf2onnx import convert

OPSET = 13


def main(package: str, factory: str, size: int, folder: Path) -> None:
    """Export one network."""
    tf.random.set_seed(0)
    applications = importlib.import_module(package)
    # Scores say more than what a softmax makes of them; with 1000 classes the largest network does
    # not get through the exporter.
    options = {"weights": None, "input_shape": (size, size, 3), "classes": 10}
    model = getattr(applications, factory)(classifier_activation=None, **options)
    for layer in model.layers:
        if isinstance(layer, tf.keras.layers.BatchNormalization):
            # The statistics become those of the next batch.
            layer.momentum = 0.0
    random = np.random.default_rng(0)
    model(random.uniform(0, 255, (4, size, size, 3)).astype(np.float32), training=True)
    x = random.uniform(0, 255, (2, size, size, 3)).astype(np.float32)
    y = model(x, training=False).numpy()
    signature = [tf.TensorSpec(x.shape, x.dtype, name="x")]
    proto, _ = convert.from_keras(model, input_signature=signature, opset=OPSET)
    (folder / "model.onnx").write_bytes(proto.SerializeToString())
    count = sum(
        int(np.prod(trainable_weight.shape)) for trainable_weight in model.trainable_weights
    )
    np.savez(folder / "values.npz", input=x, output=y, parameters=count)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), Path(sys.argv[4]))
