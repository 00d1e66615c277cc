"""An experiment: what is appended is there, what counts is the newest, damage is stepped over."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.store.conftest import Make, finish, grades_of, make_plan, planned, run_of

from skilltrial.errors import Interrupted, UsageError
from skilltrial.records.evidence import Outcome, Usage
from skilltrial.records.grades import Comparison
from skilltrial.records.journal import Result, StopLine
from skilltrial.records.plan import Plan, Shard
from skilltrial.records.summary import Coverage, GateResult, Summary
from skilltrial.store import Experiment, create, open_
from skilltrial.system.files import digest
from skilltrial.system.redaction import Redactor

SECRET = "swordfish-9000"


def again(experiment: Experiment) -> Experiment:
    experiment.close()
    return open_(experiment.folder)


def first(experiment: Experiment) -> Result:
    return next(experiment.results())


def journal(experiment: Experiment) -> Path:
    return experiment.folder / "results.jsonl"


# ---------------------------------------------------------------- append and read
def test_what_was_appended_is_read_in_plan_order(make: Make) -> None:
    experiment = make()
    for cell in reversed(planned(experiment)):
        finish(experiment, cell)
    for view in (experiment, again(experiment)):
        results = list(view.results())
        assert [result.cell for result in results] == planned(view)
        assert all(result.grading and result.grading.grades[0].state == "passed" for result in results)
        assert [view.evidence(result) for result in results] == [run_of(result.cell) for result in results]


def test_one_cell_is_found_by_its_id(make: Make) -> None:
    experiment = make(shard=Shard(index=1, count=2), cases=6)
    mine = planned(experiment)
    for result in experiment.results():
        assert experiment.result(result.cell.id) == experiment.result_of(result.cell) == result
    finish(experiment, mine[3])
    found = experiment.result(mine[3].id)
    assert found is not None
    assert found.grading is not None
    others = [f"demo/c{n}/fake/with_skill/{k}" for n in range(6) for k in (1, 2)]
    assert [experiment.result(cell) for cell in others if cell not in {cell.id for cell in mine}] != []
    assert not any(experiment.result(cell) for cell in others if cell not in {cell.id for cell in mine})
    assert experiment.result("demo/c0/fake/with_skill/3") is None


def test_a_cell_that_was_not_run_has_nothing(make: Make) -> None:
    experiment = make()
    assert [(result.evidence, result.grading, result.superseded) for result in experiment.results()] == [(None, None, ())] * 8
    assert experiment.evidence(first(experiment)) is None
    assert experiment.transcript(first(experiment)) == ()


def test_the_newest_counted_evidence_wins_and_its_grades_must_be_about_it(make: Make) -> None:
    experiment = make()
    cell = planned(experiment)[0]
    old = experiment.append_evidence(run_of(cell, text="old"))
    experiment.append_grading(grades_of(cell, old.digest), 1)
    new = experiment.append_evidence(run_of(cell, text="new", attempt=2))
    with pytest.raises(ValueError, match="not about its counted evidence"):
        experiment.append_grading(grades_of(cell, old.digest), 1)
    for view in (experiment, again(experiment)):
        result = first(view)
        assert (result.evidence, result.grading) == (new, None)
        assert [(line.attempt, line.counted) for line in result.superseded] == [(1, False)]
        assert view.next_attempt(cell.id) == 3


def test_an_attempt_that_does_not_count_leaves_the_cell_to_be_run(make: Make) -> None:
    experiment = make()
    cell = planned(experiment)[0]
    experiment.append_evidence(run_of(cell, outcome="infrastructure_error"), counted=False)
    view = again(experiment)
    assert first(view).evidence is None
    assert view.need(cell.id) == "run"
    assert view.next_attempt(cell.id) == 2
    assert view.spent == (0.25, 1)


def test_the_newest_complete_grading_wins_and_older_ones_can_be_listed(make: Make) -> None:
    experiment = make()
    cell = planned(experiment)[0]
    evidence = experiment.append_evidence(run_of(cell)).digest
    states = [("ungraded", "judge"), ("passed", "check"), ("failed", "check"), ("ungraded", "judge")]
    wins = []
    for number, (state, method) in enumerate(states, 1):
        experiment.append_grading(grades_of(cell, evidence, state=state, method=method, number=number), 1)
        grading = first(experiment).grading
        wins.append(grading.number if grading else None)
    assert wins == [1, 2, 3, 3]
    view = again(experiment)
    assert first(view).grading == first(experiment).grading
    assert [line.number for line in view.gradings(first(view))] == [1, 2, 3, 4]


def test_replaced_gradings_are_kept_at_hand_where_a_judge_was_paid_for_them(make: Make) -> None:
    experiment = make()
    cell = planned(experiment)[0]
    evidence = experiment.append_evidence(run_of(cell)).digest
    for number, ask in enumerate((True, False, True, False), 1):
        experiment.append_grading(grades_of(cell, evidence, ask=ask, number=number), 1)
    assert [line.number for line in first(experiment).regraded] == [1, 3]
    new = experiment.append_evidence(run_of(cell, attempt=2)).digest
    experiment.append_grading(grades_of(cell, new, number=5), 2)
    for view in (experiment, again(experiment)):
        assert [line.number for line in first(view).regraded] == [1, 3]
        assert [line.number for line in view.gradings(first(view))] == [1, 2, 3, 4, 5]


def test_the_judges_calls_lie_in_the_pack_and_are_summed_in_the_journal(make: Make) -> None:
    experiment = make()
    cell = planned(experiment)[0]
    evidence = experiment.append_evidence(run_of(cell)).digest
    line = experiment.append_grading(grades_of(cell, evidence, ask=True), 1)
    assert line.judge_usage == Usage(input_tokens=3, cost_usd=0.5)
    assert line.judge_calls == 1
    view = again(experiment)
    assert [call["reply"] for call in view.transcript(first(view))] == ["r"]
    assert view.spent == (0.75, 2)
    assert '"reply"' not in journal(view).read_text()


@pytest.mark.parametrize(
    ("outcome", "state", "need"),
    [
        ("infrastructure_error", None, "run"),
        ("harness_error", None, "run"),
        ("timeout", None, "nothing"),
        ("agent_error", None, "nothing"),
        ("budget", None, "nothing"),
        ("ok", None, "grade"),
        ("ok", ("ungraded", "judge"), "grade"),
        ("ok", ("ungraded", "check"), "nothing"),
        ("ok", ("failed", "judge"), "nothing"),
    ],
)
def test_what_a_cell_still_needs(make: Make, outcome: Outcome, state: tuple[str, str] | None, need: str) -> None:
    experiment = make(cases=1, repetitions=1)
    cell, baseline = planned(experiment)
    line = experiment.append_evidence(run_of(cell, outcome=outcome))
    if state:
        experiment.append_grading(grades_of(cell, line.digest, state=state[0], method=state[1]), 1)
    for view in (experiment, again(experiment)):
        assert view.need(cell.id) == need
        left = {todo.cell: todo.need for todo in view.remaining()}
        assert left == {baseline: "run"} | ({cell: need} if need != "nothing" else {})
        assert list(view.needs()) == [["nothing", "run", "grade"].index(need), 1]


def test_a_shard_has_only_its_own_cells(make: Make) -> None:
    parts = [make(cases=6, shard=Shard(index=index, count=2)) for index in (1, 2)]
    found = [[result.cell.id for result in part.results()] for part in parts]
    assert len(found[0]) + len(found[1]) == len(set(found[0] + found[1])) == 24
    assert all(found)
    for part in parts:
        assert part.planned == len(part.needs()) - part.needs().count(0) == len(list(part.remaining()))


def test_comparisons_and_stops_come_back(make: Make) -> None:
    experiment = make()
    block = planned(experiment)[0].block
    choice = Comparison(block=block, arm="with_skill", baseline="without_skill", judge="j", order="ab", winner="tie")
    experiment.append_comparison(choice)
    newer = experiment.append_comparison(choice.model_copy(update={"winner": "arm"})).comparison
    stop = experiment.append_stop(StopLine(rule="budget", after_blocks=1, reason="spent", at="2026-01-01T00:00:00Z"))
    view = again(experiment)
    assert list(view.comparisons()) == [newer]
    assert view.stops() == (stop,)


def test_a_cell_or_digest_that_is_not_of_this_plan_is_our_own_fault(make: Make) -> None:
    experiment = make()
    cell = planned(experiment)[0]
    with pytest.raises(ValueError, match="no cell"):
        experiment.append_evidence(run_of(cell._replace(repetition=3)))
    with pytest.raises(ValueError, match="not about"):
        experiment.append_grading(grades_of(cell, "sha256:" + "0" * 64), 1)


# ---------------------------------------------------------------- damage
def test_a_torn_tail_is_dropped_by_readers_and_set_aside_by_writers(make: Make) -> None:
    experiment = make()
    cells = planned(experiment)
    finish(experiment, cells[0])
    experiment.close()
    whole = journal(experiment).read_bytes()
    journal(experiment).write_bytes(whole + b'{"kind":"evidence","cell":"demo/c0')
    reader = open_(experiment.folder)
    assert first(reader).grading is not None
    assert journal(reader).read_bytes() != whole
    with open_(experiment.folder, write=True) as writer:
        assert (writer.folder / f"results.torn-{len(whole)}").read_bytes() == b'{"kind":"evidence","cell":"demo/c0'
        finish(writer, cells[1])
    view = open_(experiment.folder)
    assert [bool(result.grading) for result in view.results()] == [True, True] + [False] * 6
    assert view.warnings == ()


@pytest.mark.parametrize(
    "alien",
    [
        b"not json\n",
        b"\xff\xfe\n",
        b"\n",
        b"[]\n",
        b'{"kind":"novelty","cell":"x"}\n',
        b'{"kind":"evidence","cell":"demo/nope/fake/with_skill/1","digest":"sha256:1"}\n',
        b'{"kind":"evidence","cell":"demo/c0/fake/with_skill/99","digest":"sha256:1"}\n',
        b'{"kind":"evidence","cell":"demo/c0/fake/with_skill/1","outcome":"ok","digest":"?","pack":"../x","offset":0,"size":1}\n',
    ],
)
def test_a_line_that_is_not_ours_is_stepped_over_and_counted(make: Make, alien: bytes) -> None:
    experiment = make()
    finish(experiment, planned(experiment)[0])
    experiment.close()
    journal(experiment).write_bytes(alien + journal(experiment).read_bytes())
    view = open_(experiment.folder)
    assert first(view).grading is not None
    assert len(list(view.remaining())) == 7
    assert "1 line damaged" in view.warnings[0]


def test_evidence_that_never_reached_the_disk_is_not_there(make: Make) -> None:
    experiment = make()
    for cell in planned(experiment)[:2]:
        finish(experiment, cell)
    experiment.close()
    (pack,) = (experiment.folder / "evidence").iterdir()
    pack.write_bytes(pack.read_bytes()[:-10])  # as after a power cut
    view = open_(experiment.folder)
    assert [todo.need for todo in view.remaining()] == ["run"] * 7


def test_evidence_that_was_changed_by_hand_is_not_evidence(make: Make) -> None:
    experiment = make()
    finish(experiment, planned(experiment)[0])
    experiment.close()
    (pack,) = (experiment.folder / "evidence").iterdir()
    pack.write_bytes(pack.read_bytes().replace(b"hello", b"jello"))
    view = open_(experiment.folder)
    assert view.evidence(first(view)) is None


def test_newer_keys_are_ignored_and_a_newer_major_is_refused(make: Make) -> None:
    experiment = make()
    finish(experiment, planned(experiment)[0])
    experiment.close()
    path = experiment.folder / "experiment.json"
    stored = json.loads(path.read_text())
    lines = [json.loads(line) | {"novelty": 1} for line in journal(experiment).read_text().splitlines()]
    journal(experiment).write_text("".join(json.dumps(line) + "\n" for line in lines))
    path.write_text(json.dumps(stored | {"novelty": [1]}))
    view = open_(experiment.folder)
    assert view.plan == experiment.plan
    assert first(view).grading is not None
    path.write_text(json.dumps(stored | {"schema": "skilltrial.plan/2", "groups": "otherwise"}))
    with pytest.raises(UsageError, match="another version of skilltrial"):
        open_(experiment.folder)


@pytest.mark.parametrize(("name", "seen"), [("benchmark.json", "it holds benchmark.json"), (None, "it is empty")])
def test_a_foreign_folder_is_named_by_what_it_holds(tmp_path: Path, name: str | None, seen: str) -> None:
    if name:
        (tmp_path / name).write_text("{}")
    with pytest.raises(UsageError, match=seen):
        open_(tmp_path)
    with pytest.raises(UsageError, match="does not exist"):
        open_(tmp_path / "nowhere")


@pytest.mark.parametrize("text", ["", "{", "[]", '{"schema": "other/1"}', '{"schema": "skilltrial.plan/1", "skills": 3}'])
def test_a_damaged_plan_is_said_in_one_message(tmp_path: Path, text: str) -> None:
    (tmp_path / "experiment.json").write_text(text)
    with pytest.raises(UsageError, match=r"experiment\.json"):
        open_(tmp_path)


# ---------------------------------------------------------------- one writer
def test_a_second_writer_is_told_who_is_first_and_readers_are_let_in(make: Make) -> None:
    experiment = make()
    with pytest.raises(UsageError, match=r"being written by process \d+ on "):
        open_(experiment.folder, write=True)
    assert len(list(open_(experiment.folder).remaining())) == 8
    experiment.close()
    open_(experiment.folder, write=True).close()


def test_the_lock_of_a_dead_process_is_gone(make: Make, tmp_path: Path) -> None:
    make().close()
    folder = tmp_path / "w" / "iteration-1"
    code = f"import os; from skilltrial.store import open_; from pathlib import Path; e = open_(Path({str(folder)!r}), write=True); os._exit(9)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 9
    open_(folder, write=True).close()


def test_after_seal_late_threads_cannot_write(make: Make) -> None:
    experiment = make()
    cell = planned(experiment)[0]
    line = experiment.append_evidence(run_of(cell))
    experiment.seal()
    before = journal(experiment).read_bytes()
    with pytest.raises(Interrupted):
        experiment.append_grading(grades_of(cell, line.digest), 1)
    experiment.close()
    experiment.close()
    with pytest.raises(Interrupted):
        experiment.append_evidence(run_of(cell))
    assert journal(experiment).read_bytes() == before


def test_an_experiment_opened_for_reading_cannot_be_added_to(make: Make) -> None:
    view = again(make())
    with pytest.raises(ValueError, match="reading only"):
        view.append_evidence(run_of(planned(view)[0]))


# ---------------------------------------------------------------- secrets
def test_what_grades_quote_and_the_plan_says_is_masked_but_its_structure_is_not(tmp_path: Path) -> None:
    redactor = Redactor()
    for secret in (SECRET, "without_skill"):  # a key like any other word
        redactor.learn(secret)

    def plan(name: str) -> Plan:
        made = make_plan(name, cases=1, repetitions=1)
        suite = made.suites[0]
        case = suite.cases[0].model_copy(update={"prompt": f"Use {SECRET}."})
        return made.model_copy(update={"suites": (suite.model_copy(update={"cases": (case,)}),)})

    experiment = create(tmp_path, plan, {}, redactor)
    cells = planned(experiment)
    for cell in cells:
        evidence = experiment.append_evidence(run_of(cell)).digest
        grading = grades_of(cell, evidence, ask=True)
        grade = grading.grades[0].model_copy(update={"quote": f"it says {SECRET}", "votes": (SECRET,)})
        call = grading.calls[0].model_copy(update={"reply": SECRET})
        line = experiment.append_grading(grading.model_copy(update={"grades": (grade,), "calls": (call,)}), 1)
        assert SECRET not in line.to_json()
    experiment.write("notes.md", f"# {SECRET}")
    experiment.close()
    stored = b"".join(path.read_bytes() for path in experiment.folder.rglob("*") if path.is_file())
    assert SECRET.encode() not in stored
    view = open_(experiment.folder)
    assert view.plan.redactions == 1
    assert [cell.id for cell in planned(view)] == [cell.id for cell in cells]
    assert list(view.remaining()) == []


# ---------------------------------------------------------------- views
def test_views_are_written_below_the_folder_only(make: Make) -> None:
    experiment = make()
    assert experiment.write("report/index.html", "<p>").read_text() == "<p>"
    for name in ("../x", "/tmp/x", "report/../../x"):
        with pytest.raises(ValueError, match="leads out"):
            experiment.write(name, "x")
    summary = Summary(
        experiment=experiment.plan.experiment,
        coverage=Coverage(planned=8, finished=0, graded=0, set_aside=0, failed_measurements={}, by_arm={}),
        gate=GateResult(exit_code=2, passed=None),
    )
    assert Summary.from_stored(experiment.write_summary(summary).read_bytes()) == summary


def test_blobs_are_stored_once_by_content(make: Make) -> None:
    blobs = make().blobs
    key = digest(b"data")
    assert blobs.put_new(key, b"data") is True
    assert blobs.put_new(key, b"data") is False
    assert blobs.get(key) == b"data"
    assert list(blobs.keys("sha256:")) == [key]
    assert list(blobs.keys("sha256:zz")) == []
    for wrong in ("sha256:" + "0" * 64, "sha256:../../x", "md5:0", ""):
        with pytest.raises(KeyError):
            blobs.get(wrong)
