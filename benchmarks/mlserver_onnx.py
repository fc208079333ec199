"""A model of MLServer that ONNX Runtime computes; imported by MLServer's process alone."""

import onnxruntime
from mlserver import MLModel
from mlserver.codecs import NumpyCodec
from mlserver.types import InferenceResponse


class OnnxModel(MLModel):
    """The model in the file of its settings; MLServer joins the requests that wait."""

    async def load(self):
        """Read the file."""
        self.session = onnxruntime.InferenceSession(
            self.settings.parameters.uri, providers=["CPUExecutionProvider"]
        )
        return True

    async def predict(self, payload):
        """Answer a request, or several that were joined."""
        array = NumpyCodec.decode_input(payload.inputs[0])
        (result,) = self.session.run(None, {payload.inputs[0].name: array})
        output = NumpyCodec.encode_output("output", result)
        return InferenceResponse(model_name=self.name, outputs=[output])
