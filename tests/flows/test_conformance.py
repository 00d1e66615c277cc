"""`skilltrial adapter check`: good adapters keep every rule, bad ones break the rule they break and are told so."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any, Literal

import pytest

from skilltrial.flows.conformance import behaviours, check
from skilltrial.flows.conformance_runs import Runs

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "adapters.md"
GOOD = """
import json, os, signal, subprocess, sys, time
request = json.load(sys.stdin)
if request.get("protocol_version") != 1:
    sys.exit("this adapter speaks version 1")
prompt, skill = request["prompt"], request["skill"]
events = [{{"type": "skill_loaded", "name": skill["name"]}}] if skill else []
reply = {{"output": "READY", "events": events, "usage": {{"input_tokens": 3}}}}
{more}
sys.stdout.write(json.dumps(reply))
"""


def adapter(tmp_path: Path, more: str = "", text: str = GOOD) -> Path:
    path = tmp_path / "adapter.py"
    path.write_text(f"#!{sys.executable}\n{text.format(more=more)}", encoding="utf-8")
    path.chmod(0o755)
    return path


@pytest.fixture
def runs(tmp_path: Path, machine_with: Any) -> Any:
    def make(path: Path, protocol: Literal[1, 2] = 1, timeout_s: float = 30.0) -> Runs:
        return Runs(str(path), (), protocol, timeout_s, machine_with(), lambda name: None)

    return make


def example(tmp_path: Path) -> Path:
    """The adapter of the guide."""
    (code,) = re.findall(r"^```python\n(.*?)^```", GUIDE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    path = tmp_path / "example.py"
    path.write_text(code.replace("#!/usr/bin/env python3", f"#!{sys.executable}"), encoding="utf-8")
    path.chmod(0o755)
    return path


def test_a_good_adapter_breaks_no_rule(skilltrial: Any, tmp_path: Path) -> None:
    said = skilltrial("adapter", "check", adapter(tmp_path), "--format", "json")
    assert said.code == 0, said.out
    rows = json.loads(said.out)
    assert [row["behaviour"] for row in rows if row["state"] == "broken"] == []
    assert len(rows) == len(behaviours(1)) >= 30


def test_the_guides_example_keeps_every_rule_of_version_2_and_runs_a_trial(
    skilltrial: Any, new_skill: Any, colours: Any, tmp_path: Path
) -> None:
    path = example(tmp_path)
    said = skilltrial("adapter", "check", path, "--protocol", 2)
    assert said.code == 0, said.out
    assert "0 broken" in said.out
    new_skill(colours)
    said = skilltrial("run", "colours", "--adapter", path, "--adapter-protocol", 2, "--format", "json")
    assert said.code == 0, said.err
    assert said.summary["lifts"][0]["lift"] == 1.0
    assert said.summary["activation"][0]["activated"] == 4


BAD = [
    ("baseline", "assert skill"),
    ("skill", "assert not skill"),
    ("no fixtures", "request['files'][0]"),
    ("large prompt", "subprocess.run(['true', prompt], check=True)"),
    ("unicode", "prompt.encode('ascii')"),
    ("prompt like an option", "assert not prompt.startswith('-')"),
    ("status", "print(json.dumps(reply)); sys.exit(3)"),
    ("no process left", "subprocess.Popen(['sleep', '60'], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)"),
    ("size", "sys.stderr.write('x' * 1_100_000)"),
    ("baseline loads nothing", "reply['events'] = [{'type': 'skill_loaded', 'name': 'some-skill'}]"),
    ("skill's name", "reply['events'] = [{'type': 'skill_loaded', 'name': skill['path']}] if skill else []"),
    ("fixtures stay", "open('inputs/notes.txt', 'a').write('more') if request['files'] else None"),
    ("skill stays", "os.remove(skill['path'] + '/references/more.md') if skill else None"),
    ("baseline has no skill", "os.makedirs('skills/x', exist_ok=True); open('skills/x/SKILL.md', 'w').close()"),
    ("workspace only", "open('../log.txt', 'w').close()"),
    ("counts", "reply['usage'] = {'input_tokens': -1}"),
    ("one object", "print('thinking')"),
    ("output", "reply['output'] = ['READY']"),
    ("keys", "reply['trace'] = []"),
    ("events", "reply['events'] = [{'kind': 'x'}]"),
    ("usage", "reply['usage'] = {'input_tokens': '3'}"),
    ("two at once", "os.mkdir(os.environ['LOCK'])"),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "more"), BAD, ids=[rule for rule, _ in BAD])
def test_a_bad_adapter_breaks_its_rule(runs: Any, tmp_path: Path, rule: str, more: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCK", str(tmp_path / "lock"))
    (row,) = check(runs(adapter(tmp_path, more)), {rule}).rows
    assert row.state == "broken", row
    assert row.found and row.rule.endswith(".")


OBLIGING = 'import sys\nsys.stdin.read()\nprint(\'{{"output": "READY"}}\'){more}'


def test_one_that_answers_whatever_it_is_asked_breaks_the_rules_of_refusal(runs: Any, tmp_path: Path) -> None:
    rules = {
        "refuses no JSON",
        "refuses nothing",
        "refuses another version",
        "refuses half a request",
        "refuses without answering",
    }
    checked = check(runs(adapter(tmp_path, text=OBLIGING)), rules)
    assert {row.behaviour for row in checked.broken} == rules


def test_one_that_refuses_by_chance_does_not_refuse_alike(runs: Any, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    text = f"import os, sys\nseen = os.path.exists({str(mark)!r})\nopen({str(mark)!r}, 'w').close()\nsys.exit(4 if seen else 5){{more}}"
    (row,) = check(runs(adapter(tmp_path, text=text)), {"refuses alike"}).rows
    assert (row.state, row.found) == ("broken", "status 5, then 4")


def test_one_that_will_not_stop_is_told_of_it(runs: Any, tmp_path: Path) -> None:
    more = "signal.signal(signal.SIGTERM, signal.SIG_IGN)\nwhile True: signal.pause()"
    (row,) = check(runs(adapter(tmp_path, more)), {"stops"}).rows
    assert (row.state, "had to be killed" in row.found) == ("broken", True)


def test_one_that_takes_too_long_is_told_of_it(runs: Any, tmp_path: Path) -> None:
    more = "while skill: signal.pause()"
    rows = check(runs(adapter(tmp_path, more), timeout_s=3.0), {"time", "skill"}).rows
    assert [row.state for row in rows] == ["broken", "broken"] and "time limit of 3 s" in rows[1].found


SECOND = """
import json, signal, sys
def say(line): print(json.dumps(line), flush=True)
request = json.load(sys.stdin)
{more}
"""
RESULT = "say({'type': 'result', 'output': 'READY'})"


@pytest.mark.parametrize(
    ("rule", "lines"),
    [
        ("first line", [RESULT]),
        ("lines", ["say({'protocol_version': 2, 'capabilities': []})", "print('thinking')", RESULT]),
        ("lines", ["say({'protocol_version': 2, 'capabilities': []})", RESULT, RESULT]),
        ("capabilities known", ["say({'protocol_version': 2, 'capabilities': ['magic']})", RESULT]),
        ("capabilities constant", ["say({'protocol_version': 2, 'capabilities': ['usage'] if request['skill'] else []})", RESULT]),
        ("files there", ["say({'protocol_version': 2, 'capabilities': ['files']})", "say({'type': 'result', 'output': '', 'files': ['x']})"]),
        ("usage given", ["say({'protocol_version': 2, 'capabilities': ['usage']})", RESULT]),
        ("result after SIGTERM", ["say({'protocol_version': 2, 'capabilities': ['cancellation']})", "signal.pause() if not request['skill'] else None", RESULT]),
    ],
)  # fmt: skip
def test_a_bad_adapter_of_version_2_breaks_its_rule(runs: Any, tmp_path: Path, rule: str, lines: list[str]) -> None:
    path = adapter(tmp_path, "\n".join(lines), SECOND)
    (row,) = check(runs(path, 2), {rule}).rows
    assert row.state == "broken", row


def test_the_command_prints_the_rule_and_what_was_found_and_exits_1(skilltrial: Any, tmp_path: Path) -> None:
    said = skilltrial("adapter", "check", adapter(tmp_path, "reply['trace'] = []"))
    assert said.code == 1
    assert "BROKEN   keys: The response has no keys but output, events and usage." in said.out
    assert "unknown key 'trace'" in said.out


@pytest.mark.parametrize("make", ["nothing", "plain file", "bad interpreter"])
def test_what_cannot_be_started_is_exit_2(skilltrial: Any, tmp_path: Path, make: str) -> None:
    path = tmp_path / "adapter"
    if make != "nothing":
        path.write_text("#!/nowhere/python\n")
        path.chmod(0o755 if make == "bad interpreter" else 0o644)
    said = skilltrial("adapter", "check", path)
    assert said.code == 2 and "Traceback" not in said.err
