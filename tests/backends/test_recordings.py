"""Every recording of every program, fed line by line: what it must come to stands in `recordings.toml`."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from skilltrial import registry
from skilltrial.records.evidence import AgentRun
from skilltrial.seams import Exit, Stop

ROOT = Path(__file__).parents[1] / "recordings"
EXPECTED: dict[str, dict[str, Any]] = tomllib.loads((Path(__file__).parent / "recordings.toml").read_text(encoding="utf-8"))
SKILL = "release-notes"
ALL = [(folder, scenario) for folder, rows in EXPECTED.items() for scenario in rows]
WORKED = [pair for pair in ALL if EXPECTED[pair[0]][pair[1]]["outcome"] == "ok"]


def lines_of(folder: str, scenario: str) -> list[bytes]:
    return (ROOT / folder / f"{scenario}.jsonl").read_bytes().splitlines(keepends=True)


def exit_of(folder: str, scenario: str, stop: Stop | None = None) -> Exit:
    """How it ended when it was recorded; a signal of ours stands for the time limit."""
    meta = json.loads((ROOT / folder / "meta.json").read_text(encoding="utf-8"))[scenario]
    errors = ROOT / folder / f"{scenario}.stderr.txt"
    code = meta["exit_code"]
    return Exit(
        code=code if code >= 0 else None,
        signal=-code if code < 0 else None,
        stop=stop or (Stop("timeout", "time limit of 600 s reached") if meta["ended_by"] else None),
        stdout_bytes=sum(map(len, lines_of(folder, scenario))),
        stderr=errors.read_bytes() if errors.exists() else b"",
        duration_s=meta["seconds"],
    )


def replayed(folder: str, scenario: str, skills: tuple[str, ...] = (SKILL,)) -> AgentRun:
    backend = registry.get("backends", folder.split("/")[0])()
    reader = backend.reader(skills, forced=scenario == "forced")
    for line in lines_of(folder, scenario):
        reader.feed(line)
        if reader.doom:
            break
    left = ROOT / folder / f"{scenario}.usage.json"
    if left.exists():
        reader.file("usage.json", left.read_bytes())
    run: AgentRun = reader.close(exit_of(folder, scenario, reader.doom))
    return run


def test_every_recording_has_an_expectation_and_the_other_way_round() -> None:
    on_disk = {(str(path.parent.relative_to(ROOT)), path.stem) for path in ROOT.rglob("*.jsonl")}
    assert on_disk == set(ALL)


@pytest.mark.parametrize(("folder", "scenario"), ALL)
def test_a_recording_comes_to_what_happened(folder: str, scenario: str) -> None:
    expected = EXPECTED[folder][scenario]
    run = replayed(folder, scenario, () if scenario == "baseline" else (SKILL,))
    assert (run.outcome, run.setup, run.activation) == (
        expected["outcome"], expected.get("setup", False), expected["activation"],
    )  # fmt: skip
    assert expected["text"] in run.text
    assert bool(expected["text"]) == bool(run.text)
    assert run.usage.output_tokens == expected.get("output")
    assert (run.reason is None) == ("reason" not in expected)
    assert expected.get("reason", "") in (run.reason or "")


@pytest.mark.parametrize(("folder", "scenario"), WORKED)
def test_what_a_run_that_worked_used_adds_up(folder: str, scenario: str) -> None:
    usage = replayed(folder, scenario).usage
    if usage.input_tokens is None:
        return
    assert usage.input_tokens > 0
    assert 0 <= (usage.cached_tokens or 0) <= usage.input_tokens
    assert (usage.cost_usd is None) == (usage.cost_source is None)


@pytest.mark.parametrize("folder", [name for name in EXPECTED if "skill" in EXPECTED[name]])
def test_a_cap_can_rest_on_what_a_stream_tells_while_it_runs(folder: str) -> None:
    """`counts` names it: the rest is told with the final record, when no run can be ended any more."""
    backend = registry.get("backends", folder.split("/")[0])()
    reader, told = backend.reader((SKILL,)), {"requests": False, "tokens": False, "cost": False}
    for line in lines_of(folder, "skill"):
        reader.feed(line)
        if reader.ended:
            break
        told["requests"] |= reader.requests is not None
        told["tokens"] |= reader.usage.output_tokens is not None
        told["cost"] |= reader.usage.cost_usd is not None
    assert {name for name, value in told.items() if value} >= backend.counts - {"cost"}
    assert {name for name, value in told.items() if value} <= backend.counts


BESIDES = {"claude-code/2.1.197": 1, "opencode/1.18.33": 1}
"""Requests that no stream shows: one that asks whether the server is there, one for a title."""


@pytest.mark.parametrize(
    ("folder", "scenario"), [pair for pair in WORKED if pair[1] in ("noskill", "parallel", "readskill", "skill", "think")]
)
def test_requests_are_counted_as_the_server_saw_them(folder: str, scenario: str) -> None:
    run, backend = replayed(folder, scenario), registry.get("backends", folder.split("/")[0])
    if "requests" not in backend.counts:
        assert run.timing.model_requests is None
        return
    seen = json.loads((ROOT / folder / "meta.json").read_text(encoding="utf-8"))[scenario]["model_requests"]
    assert run.timing.model_requests == seen - BESIDES.get(folder, 0)


def test_qwen_an_answer_that_was_gone_on_with_after_a_break_is_told() -> None:
    folder = next(name for name in EXPECTED if name.startswith("qwen"))
    told = {name: any("broke off" in text for text in replayed(folder, name).warnings) for name in ("maxtok", "answer", "skill")}
    assert told == {"maxtok": True, "answer": False, "skill": False}


@pytest.mark.parametrize(("folder", "scenario"), ALL)
def test_no_half_of_a_recording_raises(folder: str, scenario: str) -> None:
    backend = registry.get("backends", folder.split("/")[0])()
    reader = backend.reader((SKILL,))
    lines = lines_of(folder, scenario)
    for line in lines[: len(lines) // 2]:
        reader.feed(line)
    for line in lines[len(lines) // 2 :][:1]:
        reader.feed(line[: len(line) // 2])
    run = reader.close(Exit(0, None, reader.doom, 1, b"", 1.0))
    assert run.outcome != "ok"


@pytest.mark.parametrize(("folder", "scenario"), ALL)
def test_a_result_follows_its_call_and_bears_its_name(folder: str, scenario: str) -> None:
    events = replayed(folder, scenario).events or ()
    called = {}
    for event in events:
        if event.kind == "tool_call":
            called[event.call] = event.name
        elif event.kind == "tool_result":
            assert event.call in called
            assert event.name == called[event.call]
            assert event.ok is not None


@pytest.mark.parametrize("folder", [name for name in EXPECTED if "skill" in EXPECTED[name]])
def test_the_inventory_tells_the_arms_apart_where_there_is_one(folder: str) -> None:
    able = registry.get("backends", folder.split("/")[0]).capabilities
    listed = replayed(folder, "skill").inventory.skills
    assert (listed is not None) == able.inventory
    if listed is not None:
        assert SKILL in listed
        if "baseline" in EXPECTED[folder]:
            assert SKILL not in (replayed(folder, "baseline", ()).inventory.skills or ())


@pytest.mark.parametrize("folder", [name for name in EXPECTED if "toolfail" in EXPECTED[name]])
def test_a_tool_that_failed_is_recorded_so(folder: str) -> None:
    if folder.startswith("gemini"):
        pytest.skip("it reports a command that ended with status 3 as a success")
    results = [event for event in replayed(folder, "toolfail").events or () if event.kind == "tool_result"]
    assert [result.ok for result in results] == [False]


@pytest.mark.parametrize("folder", [name for name in EXPECTED if "subagent" in EXPECTED[name]])
def test_a_skill_used_by_a_sub_agent_counts_and_names_its_parent(folder: str) -> None:
    run = replayed(folder, "subagent")
    if folder.startswith("opencode"):
        assert run.activation == "unknown", "it shows nothing of what happens inside"
        return
    loads = [event for event in run.events or () if event.kind == "skill"]
    calls = {event.call for event in run.events or () if event.kind == "tool_call"}
    assert [load.name for load in loads] == [SKILL]
    assert loads[0].parent in calls
    assert "MOCK-FINAL" in run.text, "what the sub-agent said is not the answer"


@pytest.mark.parametrize(("folder", "scenario"), [pair for pair in ALL if pair[1] == "think"])
def test_a_thought_is_no_answer(folder: str, scenario: str) -> None:
    run = replayed(folder, scenario)
    assert "MOCK-THOUGHT" not in run.text
    assert all("MOCK-THOUGHT" not in (event.text or "") for event in run.events or () if event.kind == "text")
