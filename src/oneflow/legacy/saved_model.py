"""Saved models: prediction jobs in a folder, for `InferenceSession`: `oneflow.saved_model`.

path/<version>/saved_model.json   names, shapes and dtypes of inputs and outputs
path/<version>/<job>/             the compiled program with its variables, as `nn.Graph.save`
                                  writes it
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

from oneflow.checkpoint.atomic_file import atomic_write
from oneflow.differentiation.grad_mode import no_grad
from oneflow.legacy.job import JobFunction
from oneflow.legacy.job_graph import JobGraph

META_FILE = "saved_model"
_FOLDER_NAME = re.compile(r"\w[\w.-]*")


class SignatureBuilder:
    """The names by which a saved job takes its arguments and gives its results.

    Without names the arguments have their own, and results are ``output_0``, ``output_1``, ....

    Args:
        name: the name of the signature.
        graph_builder: the job's builder.

    Example:
        >>> import oneflow as flow
        >>> import oneflow.typing as tp
        >>> names = {}
        >>> @flow.global_function()
        ... def doubled(x: tp.Numpy.Placeholder((2,))) -> tp.Numpy:
        ...     names["x"] = x.logical_blob_name
        ...     return 2 * x
        >>> _ = flow.experimental.get_job_set()  # runs the body
        >>> job = flow.saved_model.ModelBuilder("model").AddFunction(doubled)
        >>> signature = job.AddSignature("plain").Input("numbers", names["x"]).AsDefault()
        >>> flow.clear_default_session()
    """

    def __init__(self, name: str, graph_builder: GraphBuilder) -> None:
        self.name, self._graph = name, graph_builder
        self._inputs: dict[str, str] = {}
        self._outputs: dict[str, str] = {}

    def Input(self, input_name: str, lbn: str) -> SignatureBuilder:
        """Give an argument a name.

        Args:
            input_name: the name.
            lbn: `logical_blob_name` of the argument in the job's body.
        """
        self._inputs[input_name] = lbn
        return self

    def Output(self, output_name: str, lbn: str) -> SignatureBuilder:
        """Give a result a name.

        Args:
            output_name: the name.
            lbn: `logical_blob_name` of the result in the job's body.
        """
        self._outputs[output_name] = lbn
        return self

    def AsDefault(self) -> SignatureBuilder:
        """Take this signature where none is named."""
        self._graph.default_signature = self.name
        return self

    def OwnerGraphBuilder(self) -> GraphBuilder:
        """Return the job's builder."""
        return self._graph

    def description(self, job: JobFunction, graph: JobGraph) -> dict[str, Any]:
        """Return the signature as plain data.

        Raises:
            ValueError: a blob is no argument, or no result, of the job.
        """
        arguments = list(job.arguments)
        numbers = {f"Input_{number}/out": number for number in range(len(arguments))}
        inputs = self._inputs or dict(zip(arguments, numbers, strict=True))
        results = {f"{name}/out": i for i, name in enumerate(graph.result_names) if name}
        outputs = self._outputs
        if not outputs:
            results = {f"output_{i}": i for i in range(len(graph.result_names))}
            outputs = {name: name for name in results}
        for kind, names, allowed in (("argument", inputs, numbers), ("result", outputs, results)):
            unknown = [lbn for lbn in names.values() if lbn not in allowed]
            if unknown:
                raise ValueError(
                    f"blob `{unknown[0]}` is no {kind} of job `{job.name}`; those are "
                    f"{', '.join(allowed) or 'none with a name'}"
                )
        return {
            "inputs": {name: self._input(job, numbers[lbn]) for name, lbn in inputs.items()},
            "outputs": {name: results[lbn] for name, lbn in outputs.items()},
        }

    def _input(self, job: JobFunction, number: int) -> dict[str, Any]:
        blank = list(job.arguments.values())[number]
        return {"argument": number, "shape": list(blank.shape), "dtype": blank.dtype.name}


class GraphBuilder:
    """A job of a saved model.

    Args:
        job: the job, which does not train.
        model_builder: the model's builder.

    Raises:
        TypeError: it is no job.
        ValueError: it trains.

    Example:
        >>> import oneflow as flow
        >>> import oneflow.typing as tp
        >>> @flow.global_function()
        ... def doubled(x: tp.Numpy.Placeholder((2,))) -> tp.Numpy:
        ...     return 2 * x
        >>> job = flow.saved_model.ModelBuilder("model").AddFunction(doubled)
        >>> job.AsDefault().name
        'doubled'
        >>> flow.clear_default_session()
    """

    def __init__(self, job: JobFunction, model_builder: ModelBuilder) -> None:
        if not isinstance(job, JobFunction):
            raise TypeError(f"a saved model has job functions, got {type(job).__name__}")
        if job.is_training:
            raise ValueError(f"job `{job.name}` trains; save one of the type 'predict'")
        self.name, self._job, self._model = job.name, job, model_builder
        self.default_signature: str | None = None
        self._signatures: dict[str, SignatureBuilder] = {}

    def AddSignature(self, signature_name: str) -> SignatureBuilder:
        """Return the builder of a new signature.

        Raises:
            ValueError: there is one of this name.
        """
        if signature_name in self._signatures:
            raise ValueError(f"job `{self.name}` has a signature `{signature_name}` already")
        self._signatures[signature_name] = SignatureBuilder(signature_name, self)
        return self._signatures[signature_name]

    def AsDefault(self) -> GraphBuilder:
        """Take this job where none is named."""
        self._model.default_graph = self.name
        return self

    def OwnerModelBuilder(self) -> ModelBuilder:
        """Return the model's builder."""
        return self._model

    def Finish(self) -> ModelBuilder:
        """Return the model's builder."""
        return self._model

    def save(self, folder: Path) -> dict[str, Any]:
        """Write the job's program; return its description as plain data."""
        graph = self._job.define()
        with no_grad():
            graph(*self._job.arguments.values())
        graph.save(folder)
        signatures = self._signatures or {"default": SignatureBuilder("default", self)}
        return {
            "default_signature": self.default_signature or next(iter(signatures)),
            "signatures": {
                name: signature.description(self._job, graph)
                for name, signature in signatures.items()
            },
        }


class ModelBuilder:
    """A saved model in the making.

    Args:
        save_path: the folder in which every version of the model gets one of its own.

    Example:
        >>> import tempfile
        >>> import numpy as np
        >>> import oneflow as flow
        >>> import oneflow.typing as tp
        >>> @flow.global_function()
        ... def doubled(x: tp.Numpy.Placeholder((2,))) -> tp.Numpy:
        ...     return x * 2
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     builder = flow.saved_model.ModelBuilder(folder)
        ...     _ = builder.ModelName("arithmetic").Version(1).AddFunction(doubled)
        ...     builder.Save()
        ...     with flow.saved_model.InferenceSession() as session:
        ...         session.load_saved_model(folder)
        ...         session.run("doubled", x=np.float32([1, 2]))
        {'output_0': array([2., 4.], dtype=float32)}
        >>> flow.clear_default_session()
    """

    def __init__(self, save_path: str | os.PathLike[str]) -> None:
        self._path = Path(save_path)
        self._name, self._version = self._path.name, 1
        self.default_graph: str | None = None
        self._graphs: dict[str, GraphBuilder] = {}

    def ModelName(self, model_name: str) -> ModelBuilder:
        """Name the model."""
        self._name = model_name
        return self

    def Version(self, version: int) -> ModelBuilder:
        """Number the version.

        Raises:
            ValueError: it is not a positive integer.
        """
        if isinstance(version, bool) or not isinstance(version, int) or version < 1:
            raise ValueError(f"a version is a positive integer, got {version!r}")
        self._version = version
        return self

    def AddFunction(self, func: JobFunction) -> GraphBuilder:
        """Return the builder of a job of the model.

        Raises:
            TypeError: it is no job.
            ValueError: it trains, there is one of its name, or this is no name of a folder.
        """
        builder = GraphBuilder(func, self)
        if builder.name in self._graphs:
            raise ValueError(f"the model has a job `{builder.name}` already")
        if not _FOLDER_NAME.fullmatch(builder.name):
            raise ValueError(f"`{builder.name}` is no name of a folder")
        self._graphs[builder.name] = builder
        return builder

    def Save(self, save_model_before_graph_complete: bool = True) -> None:
        """Write the version; an older one of its number is replaced.

        Args:
            save_model_before_graph_complete: accepted; programs and variables are written together.

        Raises:
            ValueError: the model has no jobs, or a signature names blobs that are not theirs.
        """
        if not self._graphs:
            raise ValueError("add a job with `AddFunction` before the model is saved")
        folder = self._path / str(self._version)
        folder.mkdir(parents=True, exist_ok=True)
        data = {
            "name": self._name,
            "version": self._version,
            "default_graph": self.default_graph or next(iter(self._graphs)),
            "graphs": {name: graph.save(folder / name) for name, graph in self._graphs.items()},
        }
        with atomic_write(folder / f"{META_FILE}.json") as file:
            file.write(json.dumps(data, indent=1).encode())
