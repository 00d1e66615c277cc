"""`hooks.jsonl`: one line per hook command that ran."""

from __future__ import annotations

from typing import Literal

from skilltrial.records.record import Record

HOOK_FAILED = "hook failed: "
"""How the name of a grade begins that stands for a hook's own failure."""
HookStage = Literal["pre_run", "post_grade", "post_run"]


class HookRun(Record):
    """One hook command that ran, with what it printed, masked."""

    stage: HookStage
    command: str
    exit_code: int | None = None
    """Negative: the signal that ended it. None: it could not be started, or ran out of time."""
    timed_out: bool = False
    cell: str | None = None
    """The cell a post-grade hook was about."""
    duration_s: float
    stdout: str = ""
    """At most 256 KiB."""
    stderr: str = ""

    @property
    def failed(self) -> bool:
        return self.exit_code != 0
