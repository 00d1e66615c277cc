"""What every grader keeps to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

from skilltrial.errors import CellError
from skilltrial.flows.one_answer import LooseView, run_of
from skilltrial.records.checks import CHECKS
from skilltrial.records.evidence import Delta, Event, Evidence, Timing, Usage
from skilltrial.records.grades import Grade
from skilltrial.records.problems import Where
from skilltrial.records.record import JsonObject, Record
from skilltrial.records.suite import Case, Check
from skilltrial.seams import EvidenceView, Place, Question, Reply
from skilltrial.testing._rules import Rule, holds, printing_nothing, try_all

NEEDS = frozenset({"judge", "tools", "files", "place"})


class GraderCase(NamedTuple):
    """A grader, and options for each of its check types."""

    plugin: Any
    samples: Mapping[str, JsonObject]
    ours: bool = False

    @property
    def grader(self) -> Any:
        return self.plugin() if isinstance(self.plugin, type) else self.plugin

    def checks(self) -> list[Check]:
        """Two of each type, the second neither required nor scored and of another weight."""
        return [
            Check(id=f"{kind}-{number}", type=kind, text=kind, required=number == 0, scored=number == 0, weight=number + 1,
                  options=self.samples.get(kind, {}))
            for kind in self.grader.types
            for number in range(2)
        ]  # fmt: skip


def check_grader(plugin: Any, samples: Mapping[str, JsonObject]) -> None:
    """Raises AssertionError unless the grader keeps to its contract.

    Args:
        plugin: what the entry point names: a class, or an object of it.
        samples: for each of its check types, options as a suite writes them.
    """
    try_all(RULES, GraderCase(plugin, samples), f"grader {getattr(plugin, '__name__', type(plugin).__name__)}")


def grade_once(
    plugin: Any,
    kind: str,
    options: JsonObject | None = None,
    *,
    text: str = "",
    files: Mapping[str, bytes] | None = None,
    tool_calls: Sequence[tuple[str, JsonObject]] | None = None,
    judge: Sequence[str] = (),
) -> Grade:
    """The grader's verdict on a run that answered `text`, left these files and made these calls.

    Args:
        tool_calls: name and arguments of each; None: the run has no record of calls.
        judge: what the judge replies, in turn; () is a judge that is down.
    """
    view = LooseView(run_of(text, tool_calls, files or {}), files)
    check = Check(id="check", type=kind, text=kind, options=options or {})
    (grade,) = GraderCase(plugin, {}).grader.grade(CASE, [check], view, TestDesk(judge))
    verdict: Grade = grade
    return verdict


# ---------------------------------------------------------------- runs and desks
class TestDesk:
    """A desk whose judge replies what it is given, and is down after that; it has no scratch place."""

    __test__ = False
    judge = "judge"

    def __init__(self, replies: Sequence[str] = ()) -> None:
        self.replies = list(replies)

    def ask(self, question: Question) -> Reply:
        if not self.replies:
            return Reply("", "infrastructure_error", "down", Usage(), None, 0.0)
        return Reply(self.replies.pop(0), "ok", None, Usage(), None, 0.0)

    def scratch(self, evidence: EvidenceView) -> AbstractContextManager[Place]:
        raise CellError("workspace", "no room")


def _run(**fields: Any) -> Evidence:
    timing = Timing(started_at="2026-01-01T00:00:00Z", duration_s=1.0)
    return Evidence(cell="s/1/t/with_skill/1", inputs="i", attempt=1, outcome="ok", timing=timing, **fields)


_ODD = Event(kind="tool_call", name=None, arguments=[None, {"a": [1]}], call=None)
RUNS = {
    "left nothing at all": _run(),
    "left an odd text and an empty folder": _run(text="\0 \ud7ff x", delta=Delta()),
    "left a text that is no JSON and a list of files that was cut": _run(text="{" * 2000, delta=Delta(truncated=True), events=()),
    "made odd tool calls": _run(text="```", events=(_ODD, _ODD)),
}
CASE = Case(id="1", prompt="p", where=Where(file="evals.json"))


# ---------------------------------------------------------------- the rules
def has_types_with_options(case: GraderCase) -> None:
    """Each of its check types has a Record of options, and a name that suites can write."""
    grader = case.grader
    holds(grader.types, "it grades no type")
    for kind, options in grader.types.items():
        holds(isinstance(options, type) and issubclass(options, Record), f"the options of '{kind}' are no Record")
        holds(kind == kind.lower() and kind.isidentifier(), f"the type '{kind}' is not made of a-z, 0-9 and '_'")
        holds(case.ours or kind not in CHECKS, f"the type '{kind}' is one of skilltrial's own, which goes first")
    odd = frozenset(getattr(grader, "needs", frozenset())) - NEEDS
    holds(not odd, f"it needs {', '.join(map(str, odd))}; known are {', '.join(sorted(NEEDS))}")


def takes_the_samples(case: GraderCase) -> None:
    """The samples fit its options."""
    for kind, options in case.grader.types.items():
        options.model_validate(case.samples.get(kind, {}))


def answers_each_check(case: GraderCase) -> None:
    """It gives one grade per check, in order, with the check's own weight and flags, and a reason where it gives no verdict."""
    for words, run in RUNS.items():
        checks = case.checks()
        with printing_nothing("while it graded"):
            grades = case.grader.grade(CASE, checks, LooseView(run), TestDesk())
        holds(len(grades) == len(checks), f"{len(grades)} grades for {len(checks)} checks of a run that {words}")
        for check, grade in zip(checks, grades, strict=True):
            own = (check.id, check.required, check.scored, check.weight)
            holds((grade.check, grade.required, grade.scored, grade.weight) == own, f"the grade of '{check.id}' is not about it")
            holds(grade.state != "ungraded" or grade.reason, f"'{check.id}' is ungraded without a reason, of a run that {words}")


def says_the_same_again(case: GraderCase) -> None:
    """The same run gets the same verdicts, or grading again would change results."""
    for words, run in RUNS.items():
        first, second = (case.grader.grade(CASE, case.checks(), LooseView(run), TestDesk()) for _ in range(2))
        holds([grade.state for grade in first] == [grade.state for grade in second], f"its verdicts on a run that {words} differ")


def invents_no_verdict_of_a_judge(case: GraderCase) -> None:
    """Where it needs the judge and the judge is down, there is no verdict."""
    if "judge" not in getattr(case.grader, "needs", frozenset()):
        return
    grades = case.grader.grade(CASE, case.checks(), LooseView(_run(text="hello")), TestDesk())
    holds(all(grade.state == "ungraded" for grade in grades), "it decided without the judge's answer")


RULES: tuple[Rule, ...] = (
    has_types_with_options, takes_the_samples, answers_each_check, says_the_same_again, invents_no_verdict_of_a_judge,
)  # fmt: skip
