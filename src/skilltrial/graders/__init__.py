"""Evidence earns grades: every check goes to the grader of its type, and comes back passed, failed or ungraded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Literal

from skilltrial import registry
from skilltrial.errors import CellError
from skilltrial.graders._verdict import Verdict, grade_of
from skilltrial.records.checks import CHECKS, JUDGED, NEEDS_FILES, NEEDS_GIT, NEEDS_TOOLS
from skilltrial.records.grades import Grade
from skilltrial.records.suite import Case, Check
from skilltrial.wording import words

if TYPE_CHECKING:
    from skilltrial.seams import Capabilities, Desk, EvidenceView, Grader

Need = Literal["judge", "tools", "files", "place"]

_EXECUTED = frozenset({"command_ran", "command_not_ran", "command_order", "tests_pass"})
"""Types about what really ran; a tool call that was only requested tells nothing about them."""
NO_REPOSITORY = "answers to packets come without a record of the repository"
_SOUND = {
    "contains": "passed",
    "contains_all": "passed",
    "contains_any": "passed",
    "regex": "passed",
    "file_contains": "passed",
    "not_contains": "failed",
    "not_regex": "failed",
    "file_not_contains": "failed",
}
"""Verdicts that hold although part of the text is masked: something was found in what is left."""


def grade(case: Case, checks: Sequence[Check], view: EvidenceView, desk: Desk) -> tuple[Grade, ...]:
    """One grade per check, in their order. A run that did not end `ok` earns no verdict at all.

    Raises:
        CellError: a grader answered with another number of grades than it was given checks.
    """
    record = view.record
    if record.outcome != "ok":
        why = f"the run was not measured: {words.outcome(record.outcome)}" + (f", {record.reason}" if record.reason else "")
        return tuple(grade_of(check, Verdict.ungraded(why)) for check in checks)
    grades: dict[int, Grade] = {}
    for grader, places in _shared_out(checks):
        mine = [checks[place] for place in places]
        if grader is None:
            given = tuple(grade_of(check, Verdict.ungraded(_nobody(check))) for check in mine)
        else:
            given = grader.grade(case, mine, view, desk)
        if len(given) != len(mine):
            raise CellError("grader", f"{type(grader).__name__} gave {len(given)} grades for {len(mine)} checks")
        grades.update(zip(places, given, strict=True))
    return tuple(_settled(check, grades[place], view) for place, check in enumerate(checks))


def _shared_out(checks: Sequence[Check]) -> list[tuple[Grader | None, list[int]]]:
    """Places in `checks` by grader: each grader is called once a cell."""
    by_type = graders()
    shares: dict[int, tuple[Grader | None, list[int]]] = {}
    for place, check in enumerate(checks):
        grader = by_type.get(check.type)
        shares.setdefault(id(grader), (grader, []))[1].append(place)
    return list(shares.values())


def _settled(check: Check, given: Grade, view: EvidenceView) -> Grade:
    """A verdict on stored, masked text counts only where the mask cannot have changed it."""
    if not (given.redacted_input and view.stored) or given.method != "check" or given.state == "ungraded":
        return given
    if given.state == _SOUND.get(check.type) and check.options.get("count") is None:
        return given
    why = "what it looks at is stored masked, since it held a secret; only the run itself could be graded"
    return given.model_copy(update={"state": "ungraded", "reason": why, "quote": None})


@cache
def graders() -> Mapping[str, Grader]:
    """Check type -> its grader; an installed plug-in may add types and cannot take one of ours."""
    found: dict[str, Grader] = {}
    for name in registry.names("graders"):
        plugin = registry.get("graders", name)
        grader: Grader = plugin() if isinstance(plugin, type) else plugin
        for type_ in grader.types:
            found.setdefault(type_, grader)
    return found


def _nobody(check: Check) -> str:
    return f"no grader knows the check type '{check.type}'"


# ---------------------------------------------------------------- what a check needs, before anything is run
def needs_judge(check: Check) -> bool:
    """True when only a judge can grade it."""
    return "judge" in needs(check)


def needs(check: Check) -> frozenset[Need]:
    """What must be there to grade the check; nothing for one about the final text."""
    found: set[Need] = set(_own_needs(check))
    if check.type in JUDGED:
        found.add("judge")
    if check.type in NEEDS_TOOLS:
        found.add("tools")
    names_a_file = check.options.get("path") is not None or check.options.get("files") is True
    if check.type in NEEDS_FILES or (names_a_file and not check.type.startswith("tool_")):
        found.add("files")
    if check.type == "command":
        found.add("place")
    return frozenset(found)


def _own_needs(check: Check) -> frozenset[Need]:
    """What an installed grader says that it needs for all of its types."""
    return frozenset() if check.type in CHECKS else getattr(graders().get(check.type), "needs", frozenset())


def cannot_grade(check: Check, capabilities: Capabilities, has_judge: bool) -> str | None:
    """Why this check is set aside on a target with these capabilities; None: it can be graded there."""
    wanted = needs(check)
    if check.type not in graders():
        return _nobody(check)
    if "judge" in wanted and not has_judge:
        return "no judge"
    if check.type == "loaded_skill":
        return None if capabilities.activation else "this target cannot tell which skills were loaded"
    if "tools" in wanted and not capabilities.tools:
        return "this target keeps no record of tool calls"
    if check.type in NEEDS_GIT and capabilities.deferred:
        return NO_REPOSITORY
    if check.type in _EXECUTED and not capabilities.tools_executed:
        return "this target's tool calls are only requested, never executed"
    if check.options.get("mock_calls") is True and not capabilities.mcp:
        return "this target cannot be given MCP servers"
    if "files" in wanted and not capabilities.files:
        return "this target works in no folder"
    return None
