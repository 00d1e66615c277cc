"""What holds for one cell: its limits, and where its fixtures land."""

from __future__ import annotations

from skilltrial.records.plan import Options, Target
from skilltrial.records.suite import Case, Limits, Stage
from skilltrial.seams import Capabilities


def limits_of(case: Case, target: Target, options: Options) -> Limits:
    """The case's own limits, then the target's time limit, then those of the experiment."""
    said = {name: value for name, value in case.limits if value is not None}
    return options.limits.model_copy(update={"timeout_s": target.timeout_s or options.limits.timeout_s, **said})


def stage_of(case: Case, capabilities: Capabilities) -> Stage:
    """Adapters always get `inputs/`, as their protocol says; elsewhere the suite decides."""
    return "inputs" if capabilities.stage == "inputs" else case.stage
