"""Baseline runs of earlier experiments, and how long cells took."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.store.conftest import Make, finish, make_plan, planned, run_of

from skilltrial.records.evidence import Delta
from skilltrial.records.suite import FileRef
from skilltrial.store import Experiment, create, open_, reusable, timings
from skilltrial.system.files import digest

NOW = datetime(2026, 1, 5, tzinfo=UTC)


def baselines(experiment: Experiment) -> set[str]:
    return {group.inputs for group in experiment.plan.groups if group.arm == "without_skill"}


def test_equal_baseline_runs_are_found_and_copied_with_their_files(tmp_path: Path, make: Make) -> None:
    old = make()
    data = b"made by the run"
    old.blobs.put_new(digest(data), data)
    delta = Delta(created=(FileRef(path="a.txt", size=len(data), digest=digest(data)),))
    for cell in planned(old):
        old.append_evidence(run_of(cell, text=cell.id, delta=delta))
    old.close()
    new = make()
    found = list(reusable(tmp_path / "w", baselines(new), now=NOW, without=new.folder))
    assert {one.evidence.text.split("/")[3] for one in found} == {"without_skill"}
    assert len({one.line.cell for one in found}) == len(found) == 4
    wanted = {cell.inputs: cell for cell in planned(new)}
    line = found[0].append_to(new, wanted[found[0].line.inputs])
    assert (line.source, line.attempt) == ("reused", 1)
    assert new.blob(digest(data)) == data
    assert new.need(line.cell) == "grade"
    new.close()
    assert [one.line.cell for one in reusable(tmp_path / "w", baselines(new), now=NOW) if one.line.source != "ran"] == []


@pytest.mark.parametrize(
    ("run", "clean"),
    [
        ({"outcome": "timeout"}, None),
        ({"source": "reused"}, None),
        ({"redactions": 1}, None),
        ({"started": "2025-12-01T00:00:00Z"}, None),
        ({"started": "yesterday"}, None),
        ({}, False),
    ],
)
def test_runs_that_prove_nothing_for_today_are_left_out(
    tmp_path: Path, make: Make, run: dict[str, Any], clean: bool | None
) -> None:
    with make() as old:
        for cell in planned(old):
            old.append_evidence(run_of(cell, **run), clean=clean)
    assert list(reusable(tmp_path / "w", baselines(old), now=NOW)) == []


def test_other_inputs_are_not_reused(tmp_path: Path, make: Make) -> None:
    with make(salt="old-") as old:
        for cell in planned(old):
            finish(old, cell)
    assert list(reusable(tmp_path / "w", {"sha256:without_skill0"}, now=NOW)) == []


def test_an_unreadable_neighbour_does_no_harm(tmp_path: Path, make: Make) -> None:
    with make() as old:
        for cell in planned(old):
            finish(old, cell)
    (tmp_path / "w" / "broken").mkdir()
    (tmp_path / "w" / "broken" / "experiment.json").write_text("{")
    assert len(list(reusable(tmp_path / "w", baselines(old), now=NOW))) == 4
    assert timings(tmp_path / "w")["demo/c0/fake/with_skill"] == (2.0, 0.25)


def test_timings_are_means_of_good_runs_and_the_newest_experiment_wins(tmp_path: Path) -> None:
    for day, seconds in (("1", 9.0), ("2", 3.0)):
        with create(
            tmp_path, lambda name, day=day: make_plan(name, cases=1, at=f"2026-01-0{day}T00:00:00Z"), {}, None
        ) as experiment:  # type: ignore[misc]
            for cell in planned(experiment):
                run = run_of(cell, outcome="ok" if cell.repetition == 1 else "timeout")
                experiment.append_evidence(
                    run.model_copy(update={"timing": run.timing.model_copy(update={"duration_s": seconds * cell.repetition})})
                )
    known = timings(tmp_path)
    assert known["demo/c0/fake/with_skill"] == known["sha256:with_skill0"] == (3.0, 0.25)
    assert timings(tmp_path / "none") == {}
    assert open_(tmp_path / "iteration-1").spent.calls == 4
