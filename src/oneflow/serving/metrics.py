"""The statistics of all models as Prometheus reads them."""

from __future__ import annotations

from collections.abc import Iterator

from oneflow.base.extras import extra
from oneflow.serving.repository import Repository
from oneflow.serving.statistics import LATENCY_BOUNDS

with extra("serving", "`oneflow.serving`"):
    from prometheus_client import CollectorRegistry
    from prometheus_client.core import (
        CounterMetricFamily,
        GaugeMetricFamily,
        HistogramMetricFamily,
        Metric,
    )
    from prometheus_client.exposition import generate_latest
    from prometheus_client.registry import Collector

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class ModelCollector(Collector):
    """The metrics of a repository, computed on demand."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository

    def collect(self) -> Iterator[Metric]:
        """The metrics of all model versions."""
        labels = ["model", "version"]
        requests = CounterMetricFamily(
            "oneflow_requests", "Requests by their outcome", labels=[*labels, "outcome"]
        )
        rows = CounterMetricFamily("oneflow_rows", "Rows of answered requests", labels=labels)
        runs = CounterMetricFamily("oneflow_runs", "Runs of programs", labels=labels)
        seconds = CounterMetricFamily(
            "oneflow_seconds", "Time of answered requests by part", labels=[*labels, "part"]
        )
        waiting = GaugeMetricFamily("oneflow_queue", "Requests that wait", labels=labels)
        latency = HistogramMetricFamily(
            "oneflow_latency_seconds", "Time from arrival to answer", labels=labels
        )
        for model in self._repository.versions():
            key = [model.name, str(model.version)]
            statistics = model.statistics
            requests.add_metric([*key, "OK"], statistics.success.count)
            for kind, failures in sorted(statistics.failures.items()):
                requests.add_metric([*key, kind], failures.count)
            rows.add_metric(key, statistics.rows)
            runs.add_metric(key, statistics.runs)
            for part in ("queue", "input", "infer", "output"):
                seconds.add_metric([*key, part], getattr(statistics, part).ns / 1e9)
            waiting.add_metric(key, model.waiting)
            latency.add_metric(
                key, _cumulative(statistics.latency_counts), statistics.success.ns / 1e9
            )
        yield from (requests, rows, runs, seconds, waiting, latency)


def _cumulative(counts: list[int]) -> list[tuple[str, float]]:
    """The buckets of a histogram, each with all below it."""
    bounds = [*(f"{bound:g}" for bound in LATENCY_BOUNDS), "+Inf"]
    return [(bound, float(sum(counts[: index + 1]))) for index, bound in enumerate(bounds)]


def metrics_text(repository: Repository) -> bytes:
    """Return the metrics in the text format of Prometheus."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(ModelCollector(repository))
    return generate_latest(registry)
