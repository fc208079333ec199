"""`InferenceSession`: runs the jobs of saved models: `oneflow.serving`."""

from __future__ import annotations

import enum
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from oneflow.base.dtype import dtype_named
from oneflow.checkpoint.load_errors import load_errors
from oneflow.functional.creation import from_data
from oneflow.graph.graph import Graph
from oneflow.graph.saved_graph import SavedGraph
from oneflow.legacy.saved_model import META_FILE


class ModelVersionPolicy(enum.Enum):
    """The version of a saved model to load where no number is given.

    Example:
        >>> import oneflow as flow
        >>> flow.saved_model.ModelVersionPolicy.LATEST.name
        'LATEST'
    """

    LATEST = 1


@dataclass
class SessionOption:
    """Settings of an `InferenceSession`.

    Attributes:
        device_tag: accepted; a program runs on the kind of device it was saved for.
        device_num: the number of devices, which is 1.
        is_mirrored_view: accepted; programs are saved with their view.

    Example:
        >>> import oneflow as flow
        >>> flow.saved_model.SessionOption(device_tag="cpu").device_num
        1
    """

    device_tag: str = "gpu"
    device_num: int = 1
    is_mirrored_view: bool = False


@dataclass(frozen=True)
class _LoadedJob:
    """A job of a saved model.

    Attributes:
        graph: its program.
        signatures: names of inputs and outputs, by the name of the signature.
        default_signature: the name of one of them.
    """

    graph: SavedGraph
    signatures: Mapping[str, Any]
    default_signature: str


class InferenceSession:
    """Runs the jobs of a saved model; see `oneflow.saved_model.ModelBuilder`.

    Args:
        option: settings.

    Raises:
        NotImplementedError: `option` asks for several devices.

    Example:
        >>> import tempfile
        >>> import numpy as np
        >>> import oneflow as flow
        >>> import oneflow.typing as tp
        >>> @flow.global_function()
        ... def doubled(x: tp.Numpy.Placeholder((2,))) -> tp.Numpy:
        ...     return 2 * x
        >>> folder = tempfile.mkdtemp()
        >>> builder = flow.saved_model.ModelBuilder(folder)
        >>> _ = builder.AddFunction(doubled)
        >>> builder.Save()
        >>> with flow.saved_model.InferenceSession() as session:
        ...     session.load_saved_model(folder)
        ...     session.list_jobs(), session.run("doubled", x=np.float32([1, 2]))
        (['doubled'], {'output_0': array([2., 4.], dtype=float32)})
        >>> flow.clear_default_session()
    """

    class SessionStatus(enum.Enum):
        """The state of a session."""

        OPEN = 1
        RUNNING = 2
        CLOSED = 3

    def __init__(self, option: SessionOption | None = None) -> None:
        if option is not None and option.device_num != 1:
            raise NotImplementedError(
                f"a session runs programs on one device, got device_num={option.device_num}"
            )
        self.status = self.SessionStatus.OPEN
        self._jobs: dict[str, _LoadedJob] = {}
        self._entry: dict[str, str] = {}

    def __enter__(self) -> InferenceSession:
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()

    def init(self) -> None:
        """Open the session again after `close`."""
        self.status = self.SessionStatus.OPEN

    def launch(self) -> None:
        """Begin to run; the first call of `run` does it, too.

        Raises:
            RuntimeError: the session is closed, or has no jobs.
        """
        if self.status is self.SessionStatus.CLOSED:
            raise RuntimeError("this session is closed; make another `InferenceSession`")
        if not self._jobs:
            raise RuntimeError("this session has no jobs; call `load_saved_model` first")
        self.status = self.SessionStatus.RUNNING

    def close(self) -> None:
        """Forget all jobs."""
        self.status = self.SessionStatus.CLOSED
        self._jobs.clear()
        self._entry.clear()

    def load_saved_model(
        self,
        saved_model_dir: str | os.PathLike[str],
        model_version: int | ModelVersionPolicy = ModelVersionPolicy.LATEST,
        saved_model_meta_file_basename: str = META_FILE,
        graph_name: str | None = None,
        signature_name: str | None = None,
    ) -> None:
        """Load the jobs of a saved model.

        Args:
            saved_model_dir: the folder of the model.
            model_version: a number, or the latest.
            saved_model_meta_file_basename: name of the file that describes it.
            graph_name: the job to load; all by default.
            signature_name: the signature to use; the model's default by default.

        Raises:
            FileNotFoundError: there is no such version, or it is no saved model.
            RuntimeError: it is damaged, or the session is closed.
            ValueError: it has no such job or signature.
        """
        if self.status is self.SessionStatus.CLOSED:
            raise RuntimeError("this session is closed; make another `InferenceSession`")
        folder = _version_folder(Path(saved_model_dir), model_version)
        path = folder / f"{saved_model_meta_file_basename}.json"
        if not path.is_file():
            raise FileNotFoundError(f"{folder} is no saved model: there is no {path.name} in it")
        with load_errors(path, "it is damaged"):
            graphs = json.loads(path.read_text(encoding="utf-8"))["graphs"]
            jobs = {
                name: (dict(graph["signatures"]), graph["default_signature"])
                for name, graph in graphs.items()
            }
        if graph_name is not None:
            jobs = {graph_name: _entry(jobs, graph_name, "job")}
        for name, (signatures, default) in jobs.items():
            self._jobs[name] = _LoadedJob(Graph.load(folder / name), signatures, default)
            if signature_name is not None:
                self.set_job_signature(name, signature_name)

    def set_job_signature(self, job_name: str, signature: str) -> None:
        """Choose the signature of a job.

        Raises:
            ValueError: there is no such job or signature.
        """
        _entry(_entry(self._jobs, job_name, "job").signatures, signature, "signature")
        self._entry[job_name] = signature

    def set_job_batch_size(self, job_name: str, batch_size: int) -> None:
        """Check that a job takes batches of this size; programs have fixed shapes.

        Raises:
            NotImplementedError: it takes others.
            ValueError: there is no such job.
        """
        for name, description in self._signature(job_name)["inputs"].items():
            if description["shape"][:1] != [batch_size]:
                shape = tuple(description["shape"])
                raise NotImplementedError(
                    f"input `{name}` of job `{job_name}` has the shape {shape}; a "
                    "saved program has fixed shapes: save one with placeholders of that size"
                )

    def set_checkpoint_path(self, checkpoint_path: str | os.PathLike[str]) -> None:
        """Refuse: a saved model contains its variables.

        Raises:
            NotImplementedError: always.
        """
        raise NotImplementedError(
            "a saved model has its variables in it; load a snapshot before the model is saved"
        )

    def compile(self, op_list: Any) -> None:
        """Refuse descriptions of operators in OneFlow's own format.

        Raises:
            NotImplementedError: always.
        """
        raise NotImplementedError("a session runs the jobs of saved models; see `load_saved_model`")

    def list_jobs(self) -> list[str]:
        """Return the names of the jobs."""
        return list(self._jobs)

    def list_inputs(self) -> tuple[str, ...]:
        """Return the names of the inputs of all jobs."""
        return tuple(name for job in self._jobs for name in self._signature(job)["inputs"])

    def list_outputs(self) -> tuple[str, ...]:
        """Return the names of the outputs of all jobs."""
        return tuple(name for job in self._jobs for name in self._signature(job)["outputs"])

    def input_info(self, input_name: str, job_name: str | None = None) -> dict[str, Any]:
        """Return the shape and the NumPy dtype of an input.

        Raises:
            ValueError: there is no such job or input.
        """
        job = self._job_of(input_name, job_name, "inputs")
        description = self._signature(job)["inputs"][input_name]
        return {
            "shape": tuple(description["shape"]),
            "dtype": dtype_named(description["dtype"]).numpy,
        }

    def output_info(self, output_name: str, job_name: str | None = None) -> dict[str, Any]:
        """Return the shape and the NumPy dtype of an output.

        Raises:
            ValueError: there is no such job or output.
        """
        job = self._job_of(output_name, job_name, "outputs")
        inputs = self._signature(job)["inputs"].values()
        placeholders = {
            description["argument"]: np.zeros(
                description["shape"], dtype_named(description["dtype"]).numpy
            )
            for description in inputs
        }
        array = self._results(job, [placeholders[number] for number in sorted(placeholders)])[
            output_name
        ]
        return {"shape": array.shape, "dtype": array.dtype}

    def print_job_set(self) -> None:
        """Print the jobs with their inputs and outputs."""
        for job in self._jobs:
            signature = self._signature(job)
            inputs, outputs = ", ".join(signature["inputs"]), ", ".join(signature["outputs"])
            print(f"{job}: {inputs} -> {outputs}")  # noqa: T201

    def run(self, job_name: str, **kwargs: np.ndarray) -> dict[str, np.ndarray]:
        """Run a job.

        Args:
            job_name: its name.
            **kwargs: an array for each input.

        Returns:
            An array for each output, by name.

        Raises:
            TypeError: an input is missing or unknown, or has another dtype.
            ValueError: there is no such job, or an input has another shape.
            RuntimeError: the session is closed, or has no jobs.
        """
        self.launch()
        inputs = self._signature(job_name)["inputs"]
        if inputs.keys() != kwargs.keys():
            raise TypeError(
                f"job `{job_name}` takes the inputs {', '.join(inputs)}, got {', '.join(kwargs)}"
            )
        arrays: dict[int, np.ndarray] = {}
        for name, description in inputs.items():
            array = np.asarray(kwargs[name])
            if array.dtype != dtype_named(description["dtype"]).numpy:
                raise TypeError(
                    f"input `{name}` must be an array of {description['dtype']}, got {array.dtype}"
                )
            shape = tuple(description["shape"])
            if array.shape != shape:
                raise ValueError(f"input `{name}` must have the shape {shape}, got {array.shape}")
            arrays[description["argument"]] = array
        return self._results(job_name, [arrays[number] for number in sorted(arrays)])

    def _signature(self, job_name: str) -> Mapping[str, Any]:
        job = _entry(self._jobs, job_name, "job")
        return job.signatures[self._entry.get(job_name, job.default_signature)]

    def _job_of(self, name: str, job_name: str | None, kind: str) -> str:
        jobs = [job_name] if job_name is not None else self.list_jobs()
        for job in jobs:
            if name in self._signature(job)[kind]:
                return job
        raise ValueError(f"there is no `{name}` among the {kind} of {', '.join(jobs) or 'no job'}")

    def _results(self, job_name: str, arrays: list[np.ndarray]) -> dict[str, np.ndarray]:
        results = self._jobs[job_name].graph(*map(from_data.from_numpy, arrays))
        outputs = self._signature(job_name)["outputs"]
        return {name: results[number].numpy() for name, number in outputs.items()}


def _entry(choices: Mapping[str, Any], name: str, what: str) -> Any:
    if name not in choices:
        raise ValueError(f"there is no {what} `{name}`; there are {', '.join(choices) or 'none'}")
    return choices[name]


def _version_folder(path: Path, version: int | ModelVersionPolicy) -> Path:
    """Return the folder of a version of a model.

    Raises:
        FileNotFoundError: there is none.
    """
    if not path.is_dir():
        raise FileNotFoundError(f"{path} is no folder of a saved model")
    versions = sorted(int(version.name) for version in path.iterdir() if version.name.isdecimal())
    if version is ModelVersionPolicy.LATEST and versions:
        return path / str(versions[-1])
    if version not in versions:
        raise FileNotFoundError(f"{path} has the versions {versions}, and not {version}")
    return path / str(version)
