"""10,000 broken inputs: whatever stands in a file or comes back from a program, it is a problem with words, never a traceback.

The default suite takes about 1,500 of them, the slow tier all. Equal code draws equal inputs.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from skilltrial import analyze, store
from skilltrial.backends import _handbook, _streamed
from skilltrial.cli import exit_code_of
from skilltrial.errors import UsageError
from skilltrial.graders import _reply
from skilltrial.load import config as config_files
from skilltrial.load import project
from skilltrial.load.validate import examine
from skilltrial.records.config import Config
from skilltrial.reports import terminal

ROOT = Path(__file__).parents[1]


def amounts(few: int, many: int) -> Any:
    """How many inputs: a cut in the default suite, all in the slow tier."""
    return pytest.mark.parametrize("amount", [few, pytest.param(many, marks=pytest.mark.slow)])


def fuzz(amount: int, check: Callable[[st.DataObject], None]) -> None:
    """Calls `check` with `amount` different sources of choices."""
    run = settings(
        max_examples=amount, derandomize=True, database=None, deadline=None, suppress_health_check=list(HealthCheck)
    )  # fmt: skip
    run(given(data=st.data())(lambda data: check(data)))()


# ---------------------------------------------------------------- broken inputs
SCRAPS = [
    b"{", b"}", b"[", b"]", b'"', b"'", b",", b":", b": ", b"\n", b"\r\n", b"\t", b"- ", b"---\n", b"...\n", b"#", b"|", b">", b"\\",
    b"\0", b"\xff", b"\xef\xbb\xbf", b"\xe2\x80\xa8", b"\\ud800", b"\xed\xa0\x80", b"NaN", b"-Infinity", b"1e999", b"1" * 400, b"-0",
    b"null", b"true", b"~", b"&a ", b"*a", b"<<: ", b"!!python/object:os.system ", b"!!binary ", b"2024-01-01", b"0x1F", b"[" * 3000,
    b'{"a":' * 3000, b'"a": 1, "a": 2', b"../../etc/passwd", b"${HOME}", b"{{a.txt}}", b"(a+)+$", b"\x1b[2J", b"x" * 4000, b"<![CDATA[",
]  # fmt: skip
LEAVES = st.one_of(
    st.none(), st.booleans(), st.integers(), st.integers(-(2**70), 2**70), st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=8),
    st.sampled_from(["", " ", "\0", "..", "../x", "/x", "(", "x" * 5000, "::", "a/b", "sha256:", "passed", "ok", "\u2028", "\x1b]0;x\x07", "1" * 30]),
)  # fmt: skip
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=6), inner, max_size=3)),
    max_leaves=5,
)


def edited(data: st.DataObject, good: bytes) -> bytes:
    """The text with pieces taken out, put in, doubled or cut off."""
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(good)))
        end = min(len(good), start + data.draw(st.integers(0, 60)))
        piece = data.draw(st.one_of(st.sampled_from(SCRAPS), st.binary(max_size=6), st.just(b""), st.just(good[start:end] * 2)))
        good = good[:start] + piece + good[end:]
    return good


def places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to every value inside a value."""
    yield at
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from places(inner, (*at, key))


def changed(value: Any, at: Sequence[Any], new: Any, remove: bool) -> Any:
    """The value with another one, or none, at a place."""
    if not at:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    if len(at) == 1 and remove:
        del copy[at[0]]
    else:
        copy[at[0]] = changed(copy[at[0]], at[1:], new, remove)
    return copy


def altered(data: st.DataObject, value: Any) -> Any:
    """The value with one to three others inside it, of any kind."""
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.sampled_from(list(places(value))))
        value = changed(value, at, data.draw(VALUES), data.draw(st.booleans()))
    return value


def broken(data: st.DataObject, good: Any) -> bytes:
    """JSON that is altered, edited, or both; `good` may be text already."""
    if isinstance(good, bytes):
        return edited(data, good)
    if data.draw(st.booleans()):
        good = altered(data, good)
    text = json.dumps(good, indent=data.draw(st.sampled_from([None, 1])), ensure_ascii=data.draw(st.booleans()))
    encoded = text.encode("utf-8", "surrogatepass")
    return edited(data, encoded) if data.draw(st.booleans()) else encoded


# ---------------------------------------------------------------- skills and suites
SKILL = b"""---
name: demo
description: Formats tables. Use it when the user asks for tables.
license: MIT
compatibility: any
allowed-tools: Read, Bash(git add:*, git status)
metadata:
  version: "1.0"
  tags: [a, b]
---
# Demo

Use [the guide](references/guide.md). Never print `password`.
"""
STANDARD = {
    "$schema": "https://example.org/evals.schema.json",
    "skill_name": "demo",
    "defaults": {"target": {"params": {"temperature": 0}}, "judge": {"params": {}}},
    "stage": "flat",
    "evals": [
        {
            "id": 1, "prompt": "Read a.txt.", "expected_output": "A table.", "files": ["evals/a.txt"], "tags": ["x"], "weight": 2,
            "assertions": ["It is a table.", {"type": "contains", "value": "|"}, {"text": "No password.", "required": False}],
            "checks": [
                {"id": "c", "type": "regex", "pattern": "a+", "flags": "i"}, {"id": "n", "type": "number", "value": 1, "tolerance": 0.1},
                {"type": "json_path", "path": "$.a", "value": 1}, {"type": "file_exists", "path": "out.txt"},
                {"type": "command", "argv": ["true"], "exit_code": 0}, {"type": "tool_used", "tool": "Read", "min": 1},
            ],
            "limits": {"max_turns": 3, "timeout_s": 5}, "params": {"k": 1}, "should_trigger": True,
        },
        {"id": "two", "prompt": "Hello", "expectations": ["A commit was created"], "should_trigger": False},
    ],
}  # fmt: skip
TRIGGERS = [{"query": "make a table", "should_trigger": True}, {"query": "hello", "should_trigger": False, "id": 7}]
SUITES: list[Any] = [STANDARD, STANDARD, TRIGGERS, yaml.safe_dump(STANDARD).encode()]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("fuzz")
    (root / "demo" / "evals").mkdir(parents=True)
    (root / "demo" / "references").mkdir()
    (root / "demo" / "references" / "guide.md").write_text("guide")
    (root / "demo" / "evals" / "a.txt").write_text("a")
    return root


def assert_survived(root: Path, skill: bytes, suite: bytes, suite_name: str) -> None:
    """Both ways to read them give problems or records, all of which can be shown and stored."""
    for old in (root / "demo" / "evals").glob("evals.*"):
        old.unlink()
    (root / "demo" / "SKILL.md").write_bytes(skill)
    (root / "demo" / "evals" / suite_name).write_bytes(suite)
    for problem in examine(("demo",), root, "strict").problems:
        str(problem).encode("utf-8")
        json.loads(problem.to_json())
    try:
        loaded = project(Config(paths=("demo",)), root)
    except UsageError as error:
        assert str(error).strip()
        return
    for record in (*loaded.skills, *loaded.suites, *loaded.problems):
        json.loads(record.to_json())
    assert loaded.errors or all(suite.cases for suite in loaded.suites), "read as zero cases without a word"


@amounts(375, 2500)
def test_suites(folder: Path, amount: int) -> None:
    def check(data: st.DataObject) -> None:
        good = data.draw(st.sampled_from(SUITES))
        name = "evals.yaml" if isinstance(good, bytes) else "evals.json"
        assert_survived(folder, SKILL, broken(data, good), name)

    fuzz(amount, check)


@amounts(225, 1500)
def test_skills(folder: Path, amount: int) -> None:
    suite = json.dumps(STANDARD).encode()

    def check(data: st.DataObject) -> None:
        skill = edited(data, data.draw(st.sampled_from([SKILL, SKILL.replace(b"\n", b"\r\n"), b"\xef\xbb\xbf" + SKILL])))
        assert_survived(folder, skill, suite, "evals.json")

    fuzz(amount, check)


# ---------------------------------------------------------------- configuration
def every_key() -> bytes:
    """The example with every key switched on."""
    text = (ROOT / "examples" / "skilltrial.yaml").read_text(encoding="utf-8")
    return re.sub(r"^#(?=[a-z_]+:|  )", "", text, flags=re.MULTILINE).encode()


FOREIGN = b"""
workspace: out
baseline: true
target: m
judge: j
concurrency: 4
"""
TABLE = b"""
[project]
name = "x"

[tool.skilltrial]
skills = ["demo"]
targets = ["openai:m", {backend = "fake", name = "f"}]
repetitions = 3

[tool.skilltrial.budgets]
max_cost_usd = 5
"""
FILES = {"skilltrial.yaml": every_key(), "agent-skills-eval.yaml": FOREIGN, "pyproject.toml": TABLE}


def test_the_good_files_are_good(tmp_path: Path) -> None:
    """Else the broken ones would all break at the same place."""
    for name, good in FILES.items():
        (tmp_path / name).write_bytes(good)
        assert config_files.read(tmp_path / name, tmp_path).repetitions in (3, None)
    assert _handbook.response(json.dumps(RESPONSE).encode()).output == "ok"
    assert streamed(STREAM).output == "ok"
    assert _reply.verdicts(_reply.parsed(json.dumps(VERDICTS)), frozenset("ab")).keys() == {"a", "b"}


@amounts(225, 1500)
def test_configuration(tmp_path: Path, amount: int) -> None:
    parsed = yaml.safe_load(FILES["skilltrial.yaml"])

    def check(data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(["skilltrial.yaml", "skilltrial.yaml", *FILES]))
        as_json = name == "skilltrial.yaml" and data.draw(st.booleans())  # JSON is YAML
        path = tmp_path / name
        path.write_bytes(broken(data, parsed) if as_json else edited(data, FILES[name]))
        try:
            config = config_files.read(path, tmp_path)
            json.loads(config_files.merge(config, Config()).to_json())
            config_files.look(tmp_path)
        except UsageError as error:
            str(error).encode("utf-8")
            assert str(error).strip()
        finally:
            path.unlink()

    fuzz(amount, check)


# ---------------------------------------------------------------- adapters
RESPONSE = {
    "output": "ok",
    "events": [{"type": "skill_loaded", "name": "demo"}, {"type": "activation_telemetry_unavailable"}],
    "usage": {"input_tokens": 12, "cached_tokens": 3, "output_tokens": 4, "cost_usd": 0.01},
}
STREAM = [
    {"protocol_version": 2, "capabilities": ["events", "files", "usage"]},
    {"type": "event", "event": {"type": "tool_call", "name": "ls", "id": "1", "arguments": {"a": 1}}},
    {"type": "event", "event": {"type": "tool_result", "id": "1", "ok": True, "text": "a"}},
    {"type": "result", "output": "ok", "usage": {"input_tokens": 1}, "files": ["a.txt"]},
]


def streamed(rows: Sequence[Any]) -> _handbook.Response:
    """What version 2 of the protocol reads from lines."""
    reader = _streamed.Reader()
    for row in rows:
        reader.feed(row if isinstance(row, bytes) else json.dumps(row).encode())
    return reader.close()


@amounts(225, 1500)
def test_adapter_replies(amount: int) -> None:
    def check(data: st.DataObject) -> None:
        try:
            if data.draw(st.booleans()):
                answer = _handbook.response(broken(data, RESPONSE))
            else:
                lines = data.draw(st.permutations(STREAM)) if data.draw(st.booleans()) else STREAM
                answer = streamed([broken(data, line) if data.draw(st.booleans()) else line for line in lines])
        except _handbook.Violation as fault:
            str(fault).encode("utf-8")
            assert str(fault).strip()
        else:
            answer.output.encode("utf-8")
            json.loads(answer.usage.to_json())
            assert all(json.loads(event.to_json()) for event in answer.events or ())

    fuzz(amount, check)


# ---------------------------------------------------------------- judges
VERDICTS = {
    "verdicts": [{"id": "a", "passed": True, "evidence": "x"}, {"id": "b", "passed": False, "evidence": ["y", "z"]}],
    "score": 7,
    "evidence": "q",
}


@amounts(225, 1500)
def test_judge_replies(amount: int) -> None:
    wrappings = ["{}", "```json\n{}\n```", "Here it is:\n```\n{}\n```", "{} That is all.", "<think>{{</think>{}", "{}{}"]

    def check(data: st.DataObject) -> None:
        reply = broken(data, VERDICTS).decode("utf-8", "replace")
        reply = data.draw(st.sampled_from(wrappings)).replace("{}", reply)
        try:
            found = _reply.parsed(reply)
            said = _reply.verdicts(found, frozenset("ab"))
            assert said.keys() <= set("ab")
            assert all(type(word.passed) is bool and isinstance(word.evidence, str) for word in said.values())
            assert 0 <= _reply.quality(found).score <= 10
        except _reply.Unreadable as fault:
            assert str(fault).strip()

    fuzz(amount, check)


# ---------------------------------------------------------------- what is stored
@pytest.fixture(scope="module")
def experiment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small experiment with a judge, a failure and files."""
    root = tmp_path_factory.mktemp("stored")
    (root / "demo" / "evals").mkdir(parents=True)
    (root / "demo" / "SKILL.md").write_bytes(SKILL)
    checks = [{"id": "t", "type": "contains", "value": "table"}, {"id": "r", "type": "rubric", "text": "It is good."}]
    evals = [{"id": n, "prompt": f"Table {n}. fake-create-file: out.txt", "checks": checks} for n in (1, 2)]
    (root / "demo" / "evals" / "evals.json").write_text(json.dumps({"skill_name": "demo", "evals": evals}))
    rules = [{"when": {"case": "2", "arm": "with_skill", "judge": False}, "outcome": "timeout"}]
    (root / "s.json").write_text(json.dumps({"rules": rules}))
    call = ["run", str(root / "demo"), "--target", f"fake:{root / 's.json'}", "--judge", "fake", "--workspace", str(root / "w")]
    assert exit_code_of([*call, "--log-format", "silent", "--no-config"]) in (0, 1, 3)
    return root / "w" / "iteration-1"


def assert_read(folder: Path, write: bool) -> None:
    """It is refused in words, or everything that commands read of it can be read."""
    try:
        with store.open_(folder, write=write) as view:
            for result in view.results():
                view.evidence(result)
                view.transcript(result)
                view.gradings(result)
            summary = analyze.summary(view)
            json.loads(summary.to_json())
            terminal.render(summary, view, width=80, color=False).encode("utf-8")
            list(view.remaining())
            view.stops()
    except UsageError as error:
        str(error).encode("utf-8")
        assert str(error).strip()


@amounts(225, 1500)
def test_stored_lines(experiment: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], amount: int) -> None:
    """Journal, evidence and plan with damaged lines, lines twice, in another order, or torn at the end."""
    folder = tmp_path / "copy"
    shutil.copytree(experiment, folder)
    journal, plan = folder / "results.jsonl", folder / "experiment.json"
    (pack,) = (folder / "evidence").glob("*.jsonl")
    good = {path: path.read_bytes() for path in (journal, plan, pack)}

    def line(data: st.DataObject, raw: bytes) -> bytes:
        choice = data.draw(st.integers(0, 3))
        if choice == 0:
            return edited(data, raw)
        return json.dumps(altered(data, json.loads(raw))).encode("utf-8", "surrogatepass") if choice == 1 else raw

    def check(data: st.DataObject) -> None:
        path = data.draw(st.sampled_from([journal, journal, journal, pack, plan]))
        if path == plan:
            path.write_bytes(broken(data, json.loads(good[path])))
        else:
            lines = [line(data, raw) for raw in data.draw(st.permutations(good[path].splitlines()))]
            lines += data.draw(st.lists(st.sampled_from(lines), max_size=2))
            torn = data.draw(st.sampled_from([b"\n", b"", b"\n{"]))
            path.write_bytes(b"\n".join(lines) + torn)
        assert_read(folder, data.draw(st.booleans()))
        path.write_bytes(good[path])

    fuzz(amount, check)
