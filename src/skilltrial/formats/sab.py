"""skill-ab-eval: results.json with one number per cell, and `<eval>/<runner>/<side>/trial-N/judge.json` for those that were judged."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

from skilltrial.formats import _disk, _sab_out
from skilltrial.formats._foreign import ForeignExperiment, experiment
from skilltrial.formats._found import Found, Group, Row, Run, Task
from skilltrial.records.plan import Gate, Target
from skilltrial.records.summary import Summary
from skilltrial.seams import ExperimentView, Out
from skilltrial.system.files import inside

ARMS = {"with_skill": "with_skill", "without_skill": "without_skill", "baseline": "without_skill"}
BACKENDS = {
    "claude": "claude-code",
    "claude-code": "claude-code",
    "codex": "codex",
    "gemini": "gemini",
    "agy": "agy",
    "openai": "openai",
}
LOST = "no trial folder: the runner or its judge failed, and the tool stored 0 for it"


class Sab:
    """Reads both shapes of skill-ab-eval's results, and writes its tree."""

    name: ClassVar[str] = "sab"

    @staticmethod
    def claims(folder: Path) -> bool:
        evals = _disk.rows(_disk.object_at(folder / "results.json").get("evals"))
        return bool(evals) and all("cells" in one or "with_skill_pass_rate" in one for one in evals)

    @staticmethod
    def read(folder: Path) -> ForeignExperiment:
        found = Found(Sab.name, folder)
        results = _disk.object_at(folder / "results.json")
        skill = _disk.words(results.get("skill_name")) or "skill"
        found.skill(skill)
        if any("cells" in one for one in _disk.rows(results.get("evals"))):
            _Trials(found, folder, results, skill).read()
        else:
            _Answers(found, results, skill).read()
        return experiment(found)

    def write(self, summary: Summary, experiment: ExperimentView, out: Out) -> None:
        _sab_out.write(summary, experiment, out)


plugin = Sab


class _Trials:
    """The command line's own shape."""

    def __init__(self, found: Found, folder: Path, results: dict[str, Any], skill: str) -> None:
        self.found, self.folder, self.results, self.skill = found, folder, results, skill
        self.by_score = results.get("metric") == "mean_score"
        self.trials = _disk.count(results.get("trials")) or 1

    def read(self) -> None:
        found, judge = self.found, _disk.words(self.results.get("judge"))
        if judge:
            found.judge = Target(name="judge", backend=BACKENDS.get(judge, "runner"), value=None if judge in BACKENDS else judge)
            found.home_field = judge in (self.results.get("runners") or ())
        if self.by_score:
            found.gate = Gate(metric="score")
        for one in _disk.rows(self.results.get("evals")):
            case = str(one.get("id"))
            found.tasks[self.skill, case] = Task(
                given_id=case, name=_disk.words(one.get("name")), forced=one.get("force_skill_invocation") is True
            )
            cells = one.get("cells")
            for cell in cells if isinstance(cells, dict) else ():
                self._cell(case, *cell.rpartition("|")[::2])

    def _cell(self, case: str, runner: str, side: str) -> None:
        backend = BACKENDS.get(runner, "runner")
        target = self.found.target(runner, backend, None if runner in BACKENDS else runner, delivery="body_only")
        group = Group(self.skill, case, target, ARMS.get(side, side))
        below = inside(self.folder, f"{case}/{runner}/{side}")
        self.found.plan_for(group, self.trials)
        lost = 0
        for trial in range(1, self.trials + 1):
            lost += not self._trial(Run(*group, trial), below / f"trial-{trial}" if below else None)
        if lost:
            self.found.unknown(f"{'/'.join(group)}: {lost} of {self.trials} trials left no folder; the tool counts them as 0")

    def _trial(self, run: Run, folder: Path | None) -> bool:
        """Whether anything of it is there; None: its name leads out of the tree."""
        if folder is None or not folder.is_dir():
            run.outcome, run.reason = "harness_error", LOST
            self.found.lost(run)
            return False
        run.text = _disk.text_at(folder / "answer.md") or ""
        judged = _disk.json_at(folder / "judge.json")
        if isinstance(judged, dict):
            run.rows = [self._score(judged)] if self.by_score else self._verdicts(run, judged)
            notes = _disk.words(judged.get("notes"))
            run.calls = ({"prompt": "", "reply": notes or "", "reason": "the tool keeps the judge's notes only"},)
        else:
            self.found.unknown(f"{run.place}: answered, and never judged; the tool counts it as 0")
        self.found.add(run)
        return True

    def _score(self, judged: dict[str, Any]) -> Row:
        score = _disk.number(judged.get("score"))
        text = "Overall quality, 0 to 10"
        if score is None or not 0 <= score <= 10:
            return Row(text, "ungraded", f"the judge's score is {judged.get('score')!r}", type="quality", id="quality")
        return Row(text, "passed", f"quality {score:g} of 10", type="quality", id="quality", score=score / 10)

    def _verdicts(self, run: Run, judged: dict[str, Any]) -> list[Row]:
        """By position: the tree does not hold the sentences."""
        given = judged.get("assertions")
        verdicts = given if isinstance(given, list) else []
        known = self.found.tasks[self.skill, run.case].extra.setdefault("asked", len(verdicts))
        if known != len(verdicts):
            self.found.unknown(
                f"{self.skill}/{run.case}: the judge answered {known} assertions in one trial and {len(verdicts)} in another;"
                " how many were asked is not in the tree, and what only one side has is left out of the rates"
            )
        if not verdicts:
            self.found.unknown(f"{run.place}: the judge answered no assertion; the tool counts that as 0")
        weights = judged.get("weights")
        known_weights = weights if isinstance(weights, list) and len(weights) == len(verdicts) else [1.0] * len(verdicts)
        return [_verdict(*both) for both in enumerate(zip(verdicts, known_weights, strict=True), 1)]


def _verdict(number: int, told: tuple[Any, Any]) -> Row:
    verdict, weight = told[0], _disk.number(told[1])
    name = f"assertion-{number}"
    if not isinstance(verdict, bool):
        return Row(f"assertion {number}", "ungraded", f"the judge wrote {verdict!r}, which is neither true nor false", id=name)
    weight = 1.0 if weight is None else weight
    return Row(f"assertion {number}", "passed" if verdict else "failed", id=name, weight=weight)


class _Answers:
    """The shape of its agent-native mode: one rate per eval and side, and nothing behind it."""

    def __init__(self, found: Found, results: dict[str, Any], skill: str) -> None:
        self.found, self.results, self.skill = found, results, skill

    def read(self) -> None:
        target = self.found.target("agent", "manual", _disk.words(self.results.get("harness")), delivery="body_only")
        for one in _disk.rows(self.results.get("evals")):
            case = str(one.get("id"))
            self.found.tasks[self.skill, case] = Task(given_id=case)
            for arm in ("with_skill", "without_skill"):
                rate = _disk.number(one.get(f"{arm}_pass_rate"))
                run = Run(self.skill, case, target, arm)
                if rate is not None and 0 <= rate <= 1:
                    run.rows = [Row("share of assertions", "passed", f"{rate:g}", type="quality", id="share", score=rate)]
                self.found.add(run)
        self.found.unknown("only one rate per eval and side is stored: how many assertions and trials stand behind it is unknown")
