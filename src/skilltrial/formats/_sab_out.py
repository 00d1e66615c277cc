"""Writes skill-ab-eval's tree: results.json, and a folder per trial that was measured."""

from __future__ import annotations

from typing import Any

from skilltrial.errors import UsageError
from skilltrial.formats._export import Material, Part, Sheet, forced, known, less, mean, only_two_arms
from skilltrial.records.summary import Summary
from skilltrial.seams import ExperimentView, Out


def write(summary: Summary, view: ExperimentView, out: Out) -> None:
    """A cell without a measured trial is null, where the tool would write 0.

    Raises:
        UsageError: there are arms besides with_skill and without_skill, or the judge scored some cases and not others.
    """
    material = Material(summary, view, out)
    only_two_arms(material, "skill-ab-eval")
    by_skill: dict[str, list[Part]] = {}
    for part in material.parts():
        by_skill.setdefault(part.skill, []).append(part)
    for skill, parts in by_skill.items():
        _Run(material, skill, parts, f"{skill}/iteration-1/" if len(by_skill) > 1 else "").write()


class _Run:
    def __init__(self, material: Material, skill: str, parts: list[Part], prefix: str) -> None:
        self.material, self.skill, self.parts, self.prefix = material, skill, parts, prefix
        self.lifts = {part.target.name: material.lift(skill, part.target.name) for part in parts}
        self.axis = any(self.lifts.values())
        self.by_score = self._by_score()

    def _by_score(self) -> bool:
        rows = [row.score is not None for part in self.parts for sheet in part.sheets for row in sheet.rows if row.counts]
        if any(rows) and not all(rows):
            raise UsageError(
                "some cases have a quality score and others have checks, and skill-ab-eval has one metric per run",
                "export the skills one by one, or as standard",
            )
        return any(rows)

    def write(self) -> None:
        evals: dict[str, dict[str, Any]] = {}
        for part in self.parts:
            for arm in part.arms:
                by_case: dict[str, list[Sheet]] = {}
                for sheet in part.of(arm):
                    by_case.setdefault(sheet.result.cell.case, []).append(sheet)
                    self._trial(sheet, self._side(arm))
                for case, sheets in by_case.items():
                    one = evals.setdefault(
                        case, {"id": case, "name": sheets[0].case.name or case, "cells": {}, **forced(sheets[0].case)}
                    )
                    one["cells"][f"{part.target.name}|{self._side(arm)}"] = _rounded(self._cell(sheets))
        self.material.write(f"{self.prefix}results.json", self._results(list(evals.values())))

    def _side(self, arm: str) -> str:
        return arm if self.axis or arm == "with_skill" else "baseline"

    def _trial(self, sheet: Sheet, side: str) -> None:
        """One that failed has no folder; one that was answered and not graded has no judge.json."""
        cell, evidence = sheet.result.cell, sheet.evidence
        line = sheet.result.evidence
        if evidence is None or line is None or line.outcome != "ok" or line.clean is False:
            return
        folder = f"{self.prefix}{cell.case}/{cell.target}/{side}/trial-{cell.repetition}"
        self.material.write(f"{folder}/answer.md", evidence.text)
        if sheet.measured:
            rows = [row for row in sheet.rows if row.counts]
            score = sheet.rate
            self.material.write(
                f"{folder}/judge.json",
                {
                    "assertions": [] if self.by_score else [row.passed for row in rows],
                    "score": None if score is None else 10 * score,
                    "notes": " ".join(row.evidence for row in rows if row.evidence)[:2000],
                    **({"weights": [row.weight for row in rows]} if any(row.own_weight for row in rows) else {}),
                },
            )

    def _cell(self, sheets: list[Sheet]) -> float | None:
        """Pooled over trials, as the tool does; scores are averaged."""
        measured = [sheet for sheet in sheets if sheet.measured]
        if self.by_score:
            return mean(known([sheet.rate for sheet in measured]))
        rows = [row for sheet in measured for row in sheet.rows if row.counts]
        weight = sum(row.weight for row in rows)
        return sum(row.weight * row.value for row in rows) / weight if weight > 0 else None

    def _results(self, evals: list[dict[str, Any]]) -> dict[str, Any]:
        judge, runners = self.material.plan.judge, [part.target.name for part in self.parts]
        sides = {
            (runner, side): mean(known([one["cells"].get(f"{runner}|{side}") for one in evals]))
            for runner in runners
            for side in ("with_skill", "without_skill", "baseline")
        }
        lifts = [
            {
                "runner": part.target.name,
                "with_skill": _rounded(sides[part.target.name, "with_skill"]),
                "without_skill": _rounded(sides[part.target.name, "without_skill"]),
                "lift": _rounded(less(sides[part.target.name, "with_skill"], sides[part.target.name, "without_skill"])),
                "verdict": lift.point_label or "not measured",
            }
            for part in self.parts
            if (lift := self.lifts[part.target.name]) is not None
        ]
        board = [
            {"runner": runner, "score": _rounded(sides[runner, "with_skill" if self.axis else "baseline"])} for runner in runners
        ]
        return {
            "skill_name": self.material.names.get(self.skill, self.skill),
            "metric": "mean_score" if self.by_score else "pass_rate",
            "trials": max(part.repetitions for part in self.parts),
            "judge": (judge.target.value or judge.target.backend) if judge else None,
            "runners": runners,
            "skill_axis": self.axis,
            "skill_lift": lifts,
            "harness_leaderboard": sorted(board, key=lambda row: -(row["score"] if row["score"] is not None else -1.0)),
            "evals": evals,
        }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)
