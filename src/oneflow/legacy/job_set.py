"""The jobs of the session as a description: `oneflow.experimental.get_job_set`."""

from __future__ import annotations

from dataclasses import dataclass

from oneflow.legacy.job import JobFunction
from oneflow.legacy.session import default_session


@dataclass(frozen=True)
class JobConf:
    """A job.

    Attributes:
        job_name: its name.
        is_training: True for a training job.
        variables: names of its variables.
    """

    job_name: str
    is_training: bool
    variables: tuple[str, ...]

    def HasField(self, name: str) -> bool:
        """Return True for the field of its type: "train_conf" or "predict_conf"."""
        return name == ("train_conf" if self.is_training else "predict_conf")


@dataclass(frozen=True)
class JobDescription:
    """An element of a `JobSet`.

    Attributes:
        job_conf: the job.
    """

    job_conf: JobConf


@dataclass(frozen=True)
class JobSet:
    """The jobs of a session.

    Attributes:
        job: the jobs, in the order of their definition.
    """

    job: tuple[JobDescription, ...]


def get_job_set() -> JobSet:
    """Return the jobs of the session, each with the names of its variables.

    Example:
        >>> import oneflow as flow
        >>> import oneflow.typing as tp
        >>> @flow.global_function()
        ... def job(x: tp.Numpy.Placeholder((2,))) -> tp.Numpy:
        ...     return x * flow.get_variable("scale", (2,))
        >>> flow.experimental.get_job_set().job[-1].job_conf.variables
        ('scale',)
        >>> flow.clear_default_session()
    """
    session = default_session()
    session.define_jobs()
    jobs = [job for job in session.jobs if isinstance(job, JobFunction)]
    confs = [JobConf(job.name, job.is_training, tuple(job.define().variable_names)) for job in jobs]
    return JobSet(tuple(map(JobDescription, confs)))
