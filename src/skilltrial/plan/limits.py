"""What holds for one cell: its limits, and where its fixtures land."""

from __future__ import annotations

from skilltrial.records.plan import Options, Target
from skilltrial.records.suite import Case, Limits, Stage
from skilltrial.seams import Capabilities


def limits_of(case: Case, target: Target, options: Options) -> Limits:
    """The case's own limits, then the target's time limit, then those of the experiment."""
    own = {"timeout_s": target.timeout_s} if target.timeout_s else {}
    own |= {name: value for name, value in case.limits if value is not None}
    return options.limits.model_copy(update=own) if own else options.limits


def stage_of(case: Case, capabilities: Capabilities) -> Stage:
    """Adapters always get `inputs/`, as their protocol says; elsewhere the suite decides."""
    return "inputs" if capabilities.stage == "inputs" else case.stage
