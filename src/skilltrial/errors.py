"""Every exception of ours.

    SkilltrialError
    ├── UsageError      the user can mend it: we stop, show every message at once, exit 2
    │   └── BadInput    problems found in files, each with its place
    ├── CellError       one cell broke at a named boundary; it is stored and the other cells go on
    ├── NothingToDo     what was asked for is done already: one line, exit 0
    ├── NotMeasured     a statistic was asked of nothing measured
    └── Interrupted     Ctrl-C, SIGTERM or a closed terminal; what is finished is on disk, exit 130

Anything else that reaches the user is a bug of ours and keeps its traceback.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from skilltrial.records.problems import Problem


class SkilltrialError(Exception):
    """Base of all exceptions that skilltrial raises on purpose."""


class UsageError(SkilltrialError):
    """Something the user can mend. The text says where, what was found and what would be right."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}\nhint: {self.hint}" if self.hint else self.message


class BadInput(UsageError):
    """One or more problems found in the user's files, reported together."""

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        self.problems = problems
        super().__init__("\n".join(str(problem) for problem in problems))


class CellError(SkilltrialError):
    """One cell broke at `boundary` (workspace, backend, adapter, grader); the reason is stored with the cell."""

    def __init__(self, boundary: str, reason: str) -> None:
        super().__init__(f"{boundary}: {reason}")
        self.boundary = boundary
        self.reason = reason


class NothingToDo(SkilltrialError):
    """Nothing is left to run, as nothing changed or nothing failed; that is no fault."""


class NotMeasured(SkilltrialError):
    """There is no measured cell to compute from; the answer is None, never 0."""


class Interrupted(SkilltrialError):
    """The user stopped the run; everything finished is on disk and `resume` goes on from there."""
