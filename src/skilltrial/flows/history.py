"""A series of experiments, ours and others', as one line each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from pydantic import ValidationError

from skilltrial import analyze, formats, store
from skilltrial.records.history import Entry, Gate, History
from skilltrial.records.summary import Lift, Rate, Summary
from skilltrial.system.redaction import Redactor

_GATES: Mapping[int, Gate] = {0: "passed", 1: "failed", 2: "not measured", 3: "open"}


def history(places: Sequence[Path], redactor: Redactor, skill: str | None = None, target: str | None = None) -> History:
    """Every experiment at or below the places, oldest first; those of other tools as they lie. A place is read once."""
    entries = [
        entry
        for summary, folder, format_ in _summaries(dict.fromkeys(places), redactor)
        for entry in entries_of(summary, folder, format_)
        if skill in (None, entry.skill) and target in (None, entry.target)
    ]
    groups = dict.fromkeys((entry.skill, entry.target, entry.arm, entry.baseline, entry.activation) for entry in entries)
    order = {group: place for place, group in enumerate(groups)}
    entries.sort(
        key=lambda entry: (
            order[entry.skill, entry.target, entry.arm, entry.baseline, entry.activation],
            entry.created_at,
        )
    )
    return History(entries=tuple(entries))


def _summaries(places: Iterable[Path], redactor: Redactor) -> Iterator[tuple[Summary, Path, str]]:
    for place in places:
        ours = [place] if (place / "experiment.json").is_file() else list(store.experiments(place))
        for folder in ours:
            yield _of_ours(folder, redactor), folder, "skilltrial"
        for theirs in [place] if not ours else _beside(place):
            for tree in formats.trees(theirs):
                view = tree.read()
                yield analyze.summary(view), tree.root, view.format


def _beside(workspace: Path) -> list[Path]:
    """Iterations of another tool in a workspace that holds experiments of ours too."""
    if not workspace.is_dir():
        return []
    return sorted(path for path in workspace.glob("iteration-*") if path.is_dir() and not (path / "experiment.json").exists())


def _of_ours(folder: Path, redactor: Redactor) -> Summary:
    """The stored Summary where it is newer than the last step, else a new one."""
    stored, journal = folder / "summary.json", folder / "results.jsonl"
    try:
        if stored.stat().st_mtime_ns >= journal.stat().st_mtime_ns:
            return Summary.from_stored(stored.read_bytes())
    except (OSError, ValidationError):
        pass
    with store.open_(folder, write=False, redactor=redactor) as opened:
        return analyze.summary(opened)


def entries_of(summary: Summary, folder: Path, format_: str) -> Iterator[Entry]:
    """One per lift, and one per rate of an arm that has none."""
    rates = {(row.skill, row.target, row.arm, row.activation): row for row in summary.rates}
    told = set()
    for lift in summary.lifts:
        arm, baseline = (rates.get((lift.skill, lift.target, name, lift.activation)) for name in (lift.arm, lift.baseline))
        told |= {(lift.skill, lift.target, name, lift.activation) for name in (lift.arm, lift.baseline)}
        yield _entry(summary, folder, format_, lift, arm, baseline)
    for key, rate in rates.items():
        if key not in told:
            lift = Lift(skill=rate.skill, target=rate.target, arm=rate.arm, baseline="", activation=rate.activation)
            yield _entry(summary, folder, format_, lift, rate, None)


def _entry(summary: Summary, folder: Path, format_: str, lift: Lift, arm: Rate | None, baseline: Rate | None) -> Entry:
    costs = [row.cost_usd.total for row in (arm, baseline) if row and row.cost_usd and row.cost_usd.total is not None]
    return Entry(
        experiment=summary.experiment,
        folder=str(folder),
        format=format_,
        created_at=summary.created_at,
        skill=lift.skill,
        target=lift.target,
        arm=lift.arm,
        baseline=lift.baseline or None,
        activation=lift.activation,
        metric=summary.metric,
        lift=lift.lift,
        low=lift.low,
        high=lift.high,
        verdict=lift.verdict,
        pass_rate=arm.pass_rate if arm else None,
        baseline_rate=baseline.pass_rate if baseline else None,
        cases=lift.cases or (arm.cases if arm else 0),
        graded=arm.graded if arm else 0,
        planned=arm.cells if arm else 0,
        cost_usd=sum(costs) if costs else None,
        gate=_gate(summary, lift.skill, lift.target, format_),
    )


def _gate(summary: Summary, skill: str, target: str, format_: str) -> Gate | None:
    """What the gate said of them; other tools' files have none of ours."""
    code = next((row.exit_code for row in summary.gate.by_skill if (row.skill, row.target) == (skill, target)), None)
    return None if format_ != "skilltrial" or code is None else _GATES.get(code)
