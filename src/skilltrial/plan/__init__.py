"""Suites and targets become cells, and cells an order."""

from skilltrial.plan.forecast import Endpoints, Forecast, concurrency_of, expected_cost_usd, forecast, shared_of
from skilltrial.plan.limits import limits_of, stage_of
from skilltrial.plan.making import Candidate, Made, Ungradable, make, named, refusal
from skilltrial.plan.queue import CellQueue, Stopped

__all__ = [
    "Candidate",
    "CellQueue",
    "Endpoints",
    "Forecast",
    "Made",
    "Stopped",
    "Ungradable",
    "concurrency_of",
    "expected_cost_usd",
    "forecast",
    "limits_of",
    "make",
    "named",
    "refusal",
    "shared_of",
    "stage_of",
]
