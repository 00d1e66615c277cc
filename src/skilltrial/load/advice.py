"""What a suite that is valid still lacks to show much: the advice of agent-skill-eval's `validate`, and its order."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

from skilltrial.load.assertions import stand_in
from skilltrial.records.checks import CHECKS, JUDGED
from skilltrial.records.problems import Problem
from skilltrial.records.suite import Case, Suite, is_live

Severity = Literal["error", "warning", "info"]
_SAYS_NO = re.compile(
    r"(?<![a-z])(?:missing|negative|near.?miss|invalid|without|should.?not|does.?not|no|none|not|never|safe.?stop|stops?"
    r"|refus[a-z]*|decline[a-z]*)(?![a-z])",
    re.IGNORECASE,
)
_OF_ABSENCE = frozenset(
    name for name in CHECKS if name.startswith("not_") or "_not_" in name or name in ("file_unchanged", "only_changed")
)


def advice(suite: Suite, severity: Severity) -> Iterator[Problem]:
    """Each lack once for the suite, at its file; none for a suite without a case, which is an error already."""
    cases = suite.cases
    if not cases:
        return
    checks = [check for case in cases if not _stands_in(case) for check in case.checks if check.required]
    if not checks:
        yield _said(suite, severity, "no-check", "no case has a check: a judge will go by the expected output alone", _CHECKS)
    elif all(check.type in JUDGED for check in checks):
        yield _said(suite, severity, "only-judged", "every check needs a judge", _CHECKS)
    if all(case.forced for case in cases):
        yield _said(suite, severity, "always-forced", "every case forces the skill on: it is never seen to be found", _NATURAL)
    elif not any(case.should_trigger and not case.forced for case in cases):
        yield _said(suite, severity, "no-natural-case", "no case leaves it to the agent to find the skill", _NATURAL)
    if not any(map(_is_control, cases)):
        yield _said(
            suite,
            severity,
            "no-negative-control",
            "no case where the skill should do nothing",
            "add a task close to the skill's that is none of its business, with should_trigger: false",
        )
    if all(is_live(case) for case in cases):
        yield _said(
            suite,
            severity,
            "only-live",
            "every case reaches a real remote",
            "add one of side_effect_level static or local-only, which costs nothing to repeat",
        )


_CHECKS = "a check such as contains or file_exists costs nothing and never wavers"
_NATURAL = "add a case with neither force_skill_invocation nor should_trigger: false"


def _stands_in(case: Case) -> bool:
    """Its one check is what is graded in a case without checks."""
    return len(case.checks) == 1 and case.checks[0].type in JUDGED and case.checks[0] == stand_in(case.expected_output)


def _is_control(case: Case) -> bool:
    """By its key, by its id or name, or by what it checks: that something did not happen."""
    if not case.should_trigger or _SAYS_NO.search(case.id) or (case.name and _SAYS_NO.search(case.name)):
        return True
    for check in case.checks:
        if check.type in _OF_ABSENCE or check.options.get("absent"):
            return True
        if check.type in JUDGED and _SAYS_NO.search(check.text):
            return True
    return False


def _said(suite: Suite, severity: Severity, rule: str, found: str, hint: str) -> Problem:
    return Problem(where=suite.where, severity=severity, rule=rule, found=found, hint=hint)
