"""Runs by hand: packets out, answers in, questions to the judge as packets too."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from skilltrial import store
from skilltrial.flows.answers import accept

from .conftest import HELPFUL, script
from .stored import assert_whole, iteration, journal, packed, results

Answers = Callable[..., list[Path]]


def cell_of(packet: Path) -> str:
    """What the index knows and the packet must not tell."""
    lines = [json.loads(line) for line in (packet.parent.parent / "packets.jsonl").read_text().splitlines()]
    return next(line["cell"] for line in lines if line["kind"] == "packet" and line["packet"] == packet.name)


def reply(packet: Path, text: str, context: str | None = None) -> Path:
    path = packet / "answer.md"
    path.write_text(f"context: {context or packet.name}\n\n{text}\n", encoding="utf-8")
    return path


def waiting(skilltrial: Any) -> list[Path]:
    return [Path(line) for line in skilltrial("submit", "--list").out.splitlines()]


def answer_all(skilltrial: Any) -> list[Path]:
    """The arm with the skill answers as the skill says, the other does not."""
    packets = waiting(skilltrial)
    for packet in packets:
        reply(packet, "BLUE" if (packet / "skill").is_dir() else "I do not know")
    return packets


def verdict(packet: Path, passed: bool, ids: list[str] | None = None) -> str:
    ids = ids or re.findall(r'"id": "([^"]+)", "statement"', (packet / "prompt.md").read_text())
    return json.dumps({"verdicts": [{"id": name, "passed": passed, "evidence": "seen"} for name in ids]})


def test_packets_are_answered_submitted_and_reported_as_any_run(
    skilltrial: Any, new_skill: Any, colours: Any, tmp_path: Path
) -> None:
    said = skilltrial("run", new_skill(colours), "--target", "manual", "-n", 1)
    assert (said.code, said.out) == (3, "")
    assert "8 tasks wait" in said.err and "skilltrial submit" in said.err
    answer_all(skilltrial)
    said = skilltrial("submit", "--format", "json")
    assert said.code == 0, said.err
    assert said.summary["lifts"][0]["lift"] == 1.0
    assert said.summary["isolation"][0]["clean"] is None
    folder = iteration(tmp_path)
    assert_whole(folder)
    assert {row["source"] for row in packed(folder)} == {"answered"}
    assert {row["text"] for row in packed(folder)} == {"BLUE", "I do not know"}
    assert "waits" not in skilltrial("resume").err


def test_a_packet_tells_neither_arm_nor_case_nor_what_is_checked(skilltrial: Any, new_skill: Any, tmp_path: Path) -> None:
    evals = [
        {
            "id": "secret-case",
            "prompt": "Paint the wall.",
            "expected_output": "GRADED-BY-THIS",
            "assertions": ["It is RUBRIC-WORDS."],
            "checks": [{"id": "c", "type": "contains", "value": "CHECK-VALUE"}],
            "files": ["evals/files/wall.txt"],
        }
    ]
    skill = new_skill(evals, files={"evals/files/wall.txt": "white\n", "references/paint.md": "Use a brush.\n"})
    skilltrial("run", skill, "--target", "manual", "-n", 2)
    packets = waiting(skilltrial)
    assert len(packets) == 4
    texts = set()
    for packet in packets:
        assert re.fullmatch(r"[0-9a-f]{8}", packet.name)
        files = {path.relative_to(packet).as_posix() for path in packet.rglob("*") if path.is_file()}
        has_skill = "with_skill/" in cell_of(packet).replace("without_skill/", "")
        assert files == {"prompt.md", "files/wall.txt"} | (
            {"skill/SKILL.md", "skill/references/paint.md"} if has_skill else set()
        )
        text = (packet / "prompt.md").read_text()
        texts.add("\n".join(line for line in text.splitlines() if "skill" not in line))
        for hidden in ("secret-case", "GRADED", "RUBRIC", "CHECK-VALUE", "with_skill", "without_skill", "colours", "expected"):
            assert hidden not in text
        assert text.endswith("## The task\n\nPaint the wall.\n")
    assert len(texts) == 1, "but for the lines about the skill both arms read the same"


def test_files_of_an_answer_are_compared_with_those_delivered(skilltrial: Any, new_skill: Any, tmp_path: Path) -> None:
    checks = [
        {"id": "new", "type": "file_contains", "path": "out/report.txt", "contains": "done"},
        {"id": "kept", "type": "file_unchanged", "path": "same.txt"},
        {"id": "gone", "type": "file_not_exists", "path": "old.txt"},
        {"id": "made", "type": "file_exists", "path": "edit.txt"},
    ]
    names = ["same.txt", "old.txt", "edit.txt"]
    evals = [{"id": 1, "prompt": "Tidy up.", "files": [f"evals/files/{name}" for name in names], "checks": checks}]
    skilltrial("run", new_skill(evals, files={f"evals/files/{name}": name for name in names}), "--target", "manual")
    for packet in waiting(skilltrial):
        (packet / "files" / "out").mkdir()
        (packet / "files" / "out" / "report.txt").write_text("done")
        (packet / "files" / "old.txt").unlink()
        (packet / "files" / "edit.txt").write_text("edited")
        reply(packet, "Tidied.")
    assert skilltrial("submit").code == 0
    delta = packed(iteration(tmp_path))[0]["delta"]
    assert [ref["path"] for ref in delta["created"]] == ["out/report.txt"]
    assert [ref["path"] for ref in delta["changed"]] == ["edit.txt"]
    assert delta["deleted"] == ["old.txt"]


def test_all_faults_are_told_at_once_and_nothing_is_submitted(
    skilltrial: Any, new_skill: Any, colours: Any, tmp_path: Path
) -> None:
    skilltrial("run", new_skill(colours), "--target", "manual")
    packets = answer_all(skilltrial)
    reply(packets[0], "BLUE", "Agent  7")
    reply(packets[1], "BLUE", "agent 7")
    reply(packets[2], "", "agent 8")
    (packets[3] / "answer.md").write_text("BLUE\n")
    (packets[4] / "answer.md").write_bytes(b"context: a\n\n\xff\xfe")
    (packets[5] / "timing.json").write_text("[]")
    elsewhere = tmp_path / "other.md"
    elsewhere.write_text("context: agent 9\n\nBLUE\n")
    said = skilltrial("submit", "--answer", packets[6].name, elsewhere, "--answer", "cafe", elsewhere)
    assert said.code == 2
    assert "7 faults" in said.err
    for part in ("one context", "empty", "first line", "UTF-8", "timing.json", "answered 2 times", "no such packet"):
        assert part in said.err
    assert journal_is_empty(tmp_path)
    assert len(waiting(skilltrial)) == 8


def journal_is_empty(tmp_path: Path) -> bool:
    return (iteration(tmp_path) / "results.jsonl").read_text() == ""


def test_two_spellings_of_one_context_file_are_one_context(skilltrial: Any, new_skill: Any, colours: Any, tmp_path: Path) -> None:
    skilltrial("run", new_skill(colours), "--target", "manual")
    transcript = tmp_path / "session.jsonl"
    transcript.write_text("{}")
    one, other, *_ = answer_all(skilltrial)
    reply(one, "BLUE", str(transcript))
    reply(other, "BLUE", f"{tmp_path}/colours/../session.jsonl")
    assert "one context" in skilltrial("submit").err


def test_some_answers_now_and_the_rest_later(skilltrial: Any, new_skill: Any, colours: Any, tmp_path: Path) -> None:
    skilltrial("run", new_skill(colours), "--target", "manual")
    packets = answer_all(skilltrial)
    late = [(packet / "answer.md").rename(tmp_path / packet.name) for packet in packets[:3]]
    said = skilltrial("submit", "--format", "json")
    assert said.code == 3
    assert said.summary["coverage"]["failed_measurements"] == {"waiting": 3}
    assert said.summary["coverage"]["finished"] == 5
    assert said.summary["gate"]["reasons"] == ["3 runs wait for answers to their packets"]
    assert waiting(skilltrial) == packets[:3]
    assert "waits for an answer" in skilltrial("status").out
    assert skilltrial("report", "--exit-code").code == 3
    given = [word for packet, file in zip(packets, late, strict=False) for word in ("--answer", packet, file)]
    assert skilltrial("submit", *given).code == 0
    assert_whole(iteration(tmp_path))


def test_a_later_answer_shares_no_context_with_an_earlier_one(skilltrial: Any, new_skill: Any, colours: Any) -> None:
    skilltrial("run", new_skill(colours), "--target", "manual")
    first, second, *_ = waiting(skilltrial)
    reply(first, "BLUE", "ada")
    skilltrial("submit")
    reply(second, "BLUE", "Ada")
    assert "one context, 'ada'" in skilltrial("submit").err


def test_a_packet_is_answered_once(skilltrial: Any, new_skill: Any, colours: Any, tmp_path: Path) -> None:
    skilltrial("run", new_skill(colours), "--target", "manual")
    packets = answer_all(skilltrial)
    skilltrial("submit")
    assert skilltrial("submit").code == 0, "the same answers again are no fault"
    reply(packets[0], "BLUE after all")
    said = skilltrial("submit")
    assert said.code == 2 and "the first answer stands" in said.err
    assert len(journal(iteration(tmp_path), "evidence")) == 8


def test_resume_takes_no_answers_and_mends_a_lost_packet(skilltrial: Any, new_skill: Any, colours: Any, tmp_path: Path) -> None:
    skilltrial("run", new_skill(colours), "--target", "manual")
    packets = answer_all(skilltrial)
    (packets[0] / "prompt.md").unlink()
    said = skilltrial("resume")
    assert said.code == 3 and "8 tasks wait" in said.err
    assert waiting(skilltrial) == packets
    assert (packets[0] / "prompt.md").is_file()
    assert journal_is_empty(tmp_path)


def test_a_copied_packet_is_answered_where_it_was_copied_to(skilltrial: Any, new_skill: Any, tmp_path: Path) -> None:
    evals = [{"id": 1, "prompt": "Write it.", "checks": [{"id": "f", "type": "file_exists", "path": "it.txt"}]}]
    skilltrial("run", new_skill(evals), "--target", "manual", "--no-baseline")
    (packet,) = waiting(skilltrial)
    elsewhere = tmp_path / "elsewhere"
    packet.rename(elsewhere)
    (elsewhere / "files" / "it.txt").write_text("it")
    assert skilltrial("submit", "--answer", packet.name, reply(elsewhere, "written", "w")).code == 0


def test_what_a_session_took_is_kept_where_it_says_so(skilltrial: Any, new_skill: Any, colours: Any, tmp_path: Path) -> None:
    skilltrial("run", new_skill(colours), "--target", "manual:opus")
    for packet in answer_all(skilltrial):
        (packet / "timing.json").write_text('{"total_tokens": 120, "duration_ms": 1500}')
    said = skilltrial("submit", "--format", "json")
    assert said.summary["rates"][0]["tokens"]["total"] == 120
    assert said.summary["rates"][0]["time_seconds"]["mean"] == 1.5
    assert said.summary["totals"]["cost_usd"] is None


# ---------------------------------------------------------------- the judge
@pytest.fixture
def rubric() -> list[dict[str, Any]]:
    checks = [{"id": "blue", "type": "contains", "value": "BLUE"}]
    return [{"id": 1, "prompt": "What colour?", "checks": checks, "assertions": ["It is polite.", "It is short."]}]


def judged(skilltrial: Any, tmp_path: Path) -> list[Path]:
    """After the answers: the packets with questions to the judge."""
    answer_all(skilltrial)
    said = skilltrial("submit")
    assert said.code == 3 and "2 questions wait" in said.err
    packets = waiting(skilltrial)
    assert {packet.parent.name for packet in packets} == {"judge-packets"}
    return packets


def test_questions_to_the_judge_are_packets_answered_and_submitted_alike(
    skilltrial: Any, new_skill: Any, rubric: Any, tmp_path: Path
) -> None:
    skilltrial("run", new_skill(rubric), "--target", "manual")
    for packet in judged(skilltrial, tmp_path):
        text = (packet / "prompt.md").read_text()
        assert "with_skill" not in text and "without_skill" not in text and "colours" not in text
        assert len(set(re.findall(r"^BEGIN ([0-9a-f]{16}) ", text, re.MULTILINE))) == 1
        blue = '"BLUE"' in text
        reply(packet, f"```json\n{verdict(packet, blue)}\n```")
    said = skilltrial("submit", "--format", "json")
    assert said.code == 0, said.err
    rates = {row["arm"]: row["pass_rate"] for row in said.summary["rates"]}
    assert rates == {"with_skill": 1.0, "without_skill": 0.0}
    assert said.summary["judge"][0]["calls"] == 2
    assert_whole(iteration(tmp_path))


def test_a_judge_that_answered_a_task_is_refused(skilltrial: Any, new_skill: Any, rubric: Any, tmp_path: Path) -> None:
    skilltrial("run", new_skill(rubric), "--target", "manual")
    tasks = waiting(skilltrial)
    one, other = judged(skilltrial, tmp_path)
    reply(one, verdict(one, True), tasks[0].name)
    reply(other, verdict(other, True))
    assert "one context" in skilltrial("submit").err


def test_a_reply_that_leaves_something_open_is_asked_once_more_and_then_anew(
    skilltrial: Any, new_skill: Any, rubric: Any, tmp_path: Path
) -> None:
    skilltrial("run", new_skill(rubric), "--target", "manual")
    first, other = judged(skilltrial, tmp_path)
    reply(first, verdict(first, True, ["assertion-1"]))
    reply(other, verdict(other, True))
    assert skilltrial("submit").code == 3
    (second,) = waiting(skilltrial)
    assert second.name != first.name
    assert "could not be used" in (second / "prompt.md").read_text()
    reply(second, "I would rather not say.")
    said = skilltrial("submit", "--format", "json")
    assert said.code == 3
    assert said.summary["coverage"]["failed_measurements"] == {"waiting": 1}
    skilltrial("resume")
    (third,) = waiting(skilltrial)
    assert third.name not in (first.name, second.name)
    reply(third, verdict(third, False))
    assert skilltrial("submit").code in (0, 1)
    assert_whole(iteration(tmp_path))
    states = {grade.check: grade.state for grade in of_cell(tmp_path, third) if grade.method == "judge"}
    assert states == {"assertion-1": "passed", "assertion-2": "failed"}, "a verdict that was given stands"


def of_cell(tmp_path: Path, packet: Path) -> Any:
    cell = cell_of(packet)
    return next(result.grading.grades for result in results(iteration(tmp_path)) if result.cell.id == cell and result.grading)


def test_a_judge_by_packets_for_runs_that_are_not(skilltrial: Any, new_skill: Any, rubric: Any, tmp_path: Path) -> None:
    target = f"fake:{script(tmp_path / 's.json', *HELPFUL)}"
    said = skilltrial("run", new_skill(rubric), "--target", target, "--judge", "manual")
    assert said.code == 3 and "2 questions wait" in said.err
    for packet in waiting(skilltrial):
        reply(packet, verdict(packet, True))
    assert skilltrial("submit").code == 0
    assert_whole(iteration(tmp_path))
    assert len(journal(iteration(tmp_path), "evidence")) == 2, "nothing was run again"
    assert "--judge" in skilltrial("grade", "--judge", "manual").err


def test_deterministic_verdicts_do_not_wait_for_the_judge(
    skilltrial: Any, new_skill: Any, rubric: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A secret in the answer is masked on disk, so it can be graded only when the answer comes in."""
    monkeypatch.setenv("TEST_API_KEY", "sk-BLUE-1234567890")
    rubric[0]["checks"].append({"id": "key", "type": "regex", "pattern": r"sk-BLUE-\d{10}"})
    skilltrial("run", new_skill(rubric), "--target", "manual", "--no-baseline")
    (packet,) = waiting(skilltrial)
    reply(packet, "BLUE sk-BLUE-1234567890")
    skilltrial("submit")
    (question,) = waiting(skilltrial)
    assert "1234567890" not in (question / "prompt.md").read_text()
    reply(question, verdict(question, True))
    assert skilltrial("submit").code == 0
    assert {grade.check: grade.state for grade in of_cell(tmp_path, question)}["key"] == "passed"


# ---------------------------------------------------------------- what a packet cannot tell
def test_checks_about_tools_and_the_repository_are_set_aside(skilltrial: Any, new_skill: Any) -> None:
    checks = [
        {"id": "c", "type": "contains", "value": "x"},
        {"id": "t", "type": "command_ran", "command": "ls"},
        {"id": "g", "type": "git_commit"},
    ]
    contract = {"side_effect_level": "local-only", "side_effect_contract": {"allow_new_commits": False}}
    skilltrial("run", new_skill([{"id": 1, "prompt": "Hello", "checks": checks, **contract}]), "--target", "manual")
    for packet in waiting(skilltrial):
        reply(packet, "x")
    said = skilltrial("submit", "--format", "json")
    assert said.code == 0, said.err
    aside = {row["checks"][0]: row["reason"] for row in said.summary["set_aside"]}
    assert "repository" in aside["g"] and "tool" in aside["t"] and "repository" in aside["contract: no new commits"]
    assert said.summary["coverage"]["graded"] == 2


def test_a_secret_in_the_prompt_does_not_reach_a_packet(skilltrial: Any, new_skill: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_API_KEY", "sk-test-abcdef123456")
    evals = [{"id": 1, "prompt": "Say sk-test-abcdef123456.", "checks": [{"id": "c", "type": "contains", "value": "x"}]}]
    skilltrial("run", new_skill(evals), "--target", "manual")
    assert all("abcdef" not in (packet / "prompt.md").read_text() for packet in waiting(skilltrial))


def test_submitting_nothing_says_what_waits(skilltrial: Any, new_skill: Any, colours: Any) -> None:
    skilltrial("run", new_skill(colours), "--target", "manual")
    said = skilltrial("submit")
    assert said.code == 2 and "no answer yet" in said.err and "8 tasks wait" in said.err


def test_what_packets_cannot_do_is_refused_before_one_is_written(
    skilltrial: Any, new_skill: Any, colours: Any, tmp_path: Path
) -> None:
    skill = new_skill(colours)
    said = skilltrial("run", skill, "--target", "fake", "--judge", "manual", "--judge-mode", "pairwise")
    assert said.code == 2 and "answers at once" in said.err
    assert not (tmp_path / "skilltrial-workspace").exists()


def test_an_accepted_answer_survives_a_kill_before_it_is_carried_on(
    skilltrial: Any, new_skill: Any, colours: Any, tmp_path: Path
) -> None:
    skilltrial("run", new_skill(colours), "--target", "manual")
    answer_all(skilltrial)
    folder = iteration(tmp_path)
    with store.open_(folder, write=True) as opened:
        assert len(accept(opened, ())) == 8
    assert waiting(skilltrial) == [] and journal_is_empty(tmp_path)
    assert skilltrial("submit").code == 0
    assert_whole(folder)
