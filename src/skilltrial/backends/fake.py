"""A target and judge that plays a script: for tests, for the docs, and for trying a suite without a model."""

from __future__ import annotations

import json
import random
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Any, ClassVar, Literal, Self

from pydantic import Field

from skilltrial.backends import _script_commands
from skilltrial.backends._program import built
from skilltrial.backends._script import Rule, Script, place_in_plan, script
from skilltrial.errors import CellError
from skilltrial.records.evidence import Activation, AgentRun, Event, Inventory, Outcome, Timing, Usage
from skilltrial.records.plan import Target
from skilltrial.records.record import JsonObject, Record
from skilltrial.seams import Capabilities, Job, Machine, Probe, Stop, Watch
from skilltrial.system.files import write_atomic

_CREATE = re.compile(r"fake-create-file:\s*(\S+)")
_PLAIN = Usage(input_tokens=1, output_tokens=0, cost_usd=0.0, cost_source="cli")


class Fake(Record):
    """Answers by a script, else by a fixed habit; equal jobs get equal answers."""

    name: ClassVar[str] = "fake"
    skill_dir: ClassVar[str] = ".fake/skills"
    capabilities: ClassVar[Capabilities] = Capabilities(
        skills=True, inventory=True, activation=True, tools=True, files=True, tokens=True, cost=True, judge=True, paid=False,
        delivery="installed", timeout_s=120.0, concurrency=16,
    )  # fmt: skip

    label: str = "fake"
    """What stands after the colon when it is no file; tells two fakes apart."""
    script: str | JsonObject | None = None
    """A YAML or JSON file, inline JSON, or an object with `rules`."""
    reply: Literal["echo", "skill", "empty", "ase"] = "echo"
    """Without a rule: the prompt; the skill's body, else the prompt; nothing; what agent-skill-eval's fake agent says."""
    p_with: float | None = Field(default=None, ge=0, le=1)
    """Chance of `pass_text` in an arm with skills; drawn by the cell's seed."""
    p_without: float | None = Field(default=None, ge=0, le=1)
    """The same in a baseline."""
    pass_text: str = "pass"
    fail_text: str = "fail"

    @classmethod
    def from_target(cls, target: Target) -> Self:
        """Builds it from a planned target; a value that ends in .yaml, .yml or .json is the script.

        Raises:
            UsageError: an option it does not have.
        """
        value = target.value or "fake"
        given = {"script": value} if Path(value).suffix in (".yaml", ".yml", ".json") else {"label": value}
        return built(cls, target, **given)

    def probe(self, machine: Machine) -> Probe:
        """The script, if any, can be read."""
        script(self.script)
        return Probe(True, "plays a script; no model is called")

    @contextmanager
    def open(self, machine: Machine) -> Iterator[FakeRunner]:
        yield FakeRunner(self, script(self.script))

    def endpoint_name(self) -> str:
        return f"fake:{self.script if isinstance(self.script, str) else self.label}"


plugin = Fake


class FakeRunner:
    """Plays one rule per job."""

    def __init__(self, fake: Fake, rules: Script) -> None:
        self.fake = fake
        self.rules = rules

    def run(self, job: Job, watch: Watch) -> AgentRun:
        started, began = datetime.now(UTC).isoformat(timespec="milliseconds"), time.monotonic()
        rule = self.rules.rule(job) or Rule()
        done: list[Event] = []
        stop = _wait(rule.sleep_s, watch) or self._act(rule, job, watch, done)
        timing = Timing(started_at=started, duration_s=round(time.monotonic() - began, 4))
        sent: JsonObject = {"system": job.system, "prompt": job.prompt, "skills": [skill.name for skill in job.skills]}
        if stop is not None:
            return AgentRun(outcome=_outcome(stop), reason=stop.reason, events=tuple(done) or None, timing=timing, sent=sent)
        return self._played(rule, job, tuple(done), timing, sent)

    def _act(self, rule: Rule, job: Job, watch: Watch, done: list[Event]) -> Stop | None:
        """Writes the files, tells the events and runs the commands; what happened stands in `done`."""
        self._write(rule, job)
        done.extend(_told(rule, job))
        stop = next((stop for event in done if (stop := watch.heard(event))), None)
        if stop is not None or not rule.run:
            return stop
        try:
            for event in _script_commands.run(rule.run, job, watch, self.fake.skill_dir):
                done.append(event)
                if stop := watch.heard(event):
                    return stop
        except _script_commands.Stopped as error:
            return error.stop
        return None

    def _played(self, rule: Rule, job: Job, done: tuple[Event, ...], timing: Timing, sent: JsonObject) -> AgentRun:
        ok = rule.outcome == "ok"
        return AgentRun(
            outcome=rule.outcome,
            reason=rule.reason or (None if ok else "as the script says"),
            text=self._text(rule, job, done) if ok else "",
            events=done,
            activation=_activation(rule, job),
            inventory=Inventory(skills=tuple(skill.name for skill in job.skills)),
            usage=rule.usage or _PLAIN,
            timing=timing,
            model=self.fake.label,
            setup=rule.setup,
            sent=sent,
        )

    # ------------------------------------------------------------ the answer
    def _text(self, rule: Rule, job: Job, done: tuple[Event, ...]) -> str:
        if rule.text is not None:
            return rule.text.replace("{output}", _script_commands.output_of(done)).replace("{prompt}", job.prompt)
        if job.json_schema is not None:
            return json.dumps(_verdicts(rule, job.json_schema, job.prompt))
        chance = self.fake.p_with if job.skills else self.fake.p_without
        if chance is not None:
            return self.fake.pass_text if _drawn(job) < chance else self.fake.fail_text
        return self._habit(job)

    def _habit(self, job: Job) -> str:
        habit = self.fake.reply
        if habit == "empty":
            return ""
        if habit == "ase":
            formats = bool(job.skills) and "format" in job.prompt.casefold()
            return '{"status": "ok", "formatted": true}' if formats else "This is the fake agent's answer."
        if habit == "skill" and job.skills:
            return "\n\n".join(skill.body for skill in job.skills)
        return job.prompt

    # ------------------------------------------------------------ the folder
    def _write(self, rule: Rule, job: Job) -> None:
        """Writes and deletes files as the rule says, and as `fake-create-file: PATH` in the prompt says."""
        files = {path: rule.text or path for path in _CREATE.findall(job.prompt)} | rule.files
        if job.place is None or not (files or rule.delete):
            return
        for path, text in files.items():
            spot = _inside(job.place.root, path)
            spot.parent.mkdir(parents=True, exist_ok=True)
            write_atomic(spot, text, None)
        for path in rule.delete:
            _inside(job.place.root, path).unlink(missing_ok=True)


def _told(rule: Rule, job: Job) -> tuple[Event, ...]:
    """The events of the script; where it has none, that each skill was loaded."""
    return rule.events if rule.events is not None else tuple(Event(kind="skill", name=skill.name) for skill in job.skills)


def _activation(rule: Rule, job: Job) -> Activation:
    if rule.activation is not None:
        return rule.activation
    if not job.skills:
        return "none_expected"
    loads = {event.name for event in _told(rule, job) if event.kind == "skill"}
    return "activated" if loads & {skill.name for skill in job.skills} else "not_seen"


def _inside(root: Path, path: str) -> Path:
    if PurePosixPath(path).is_absolute() or ".." in PurePosixPath(path).parts:
        raise CellError("backend", f"the script names '{path}', which lies outside the workspace")
    return root / path


def _drawn(job: Job) -> float:
    """A number from 0 to 1 by seed, case and whether there is a skill: equal cells draw equal numbers."""
    spot = place_in_plan(job)
    return random.Random(f"{job.seed}/{spot.get('skill')}/{spot.get('case')}/{bool(job.skills)}").random()


def _verdicts(rule: Rule, schema: JsonObject, prompt: str) -> dict[str, Any]:
    """A judge's reply of the shape that was asked for; every statement passes unless the rule says otherwise."""
    properties: Any = schema.get("properties", {})
    found: dict[str, Any] = {}
    if "verdicts" in properties:
        ids = properties["verdicts"]["items"]["properties"]["id"]["enum"]
        words = rule.passed if isinstance(rule.passed, dict) else dict.fromkeys(ids, rule.passed is not False)
        rows = [{"id": name, "passed": words[name], "evidence": "as the script says"} for name in ids if name in words]
        found["verdicts"] = rows
    if "winner" in properties:
        return _choice(rule, prompt)
    if "score" in properties:
        found |= {"score": 5 if rule.score is None else rule.score, "evidence": "as the script says"}
    return found


def _choice(rule: Rule, prompt: str) -> dict[str, Any]:
    """A choice between two answers; which is shown where is read from the fences of the question."""
    _, _, rest = prompt.partition("final answer of the first assistant")
    first, _, second = rest.partition("final answer of the second assistant")
    holds = [rule.prefers is not None and rule.prefers in text for text in (first, second)]
    winner = "tie" if holds[0] == holds[1] else "first" if holds[0] else "second"
    scores = {"tie": (5, 5), "first": (8, 3), "second": (3, 8)}[winner]
    return {"winner": winner, "score_first": scores[0], "score_second": scores[1], "evidence": "as the script says"}


def _wait(seconds: float, watch: Watch) -> Stop | None:
    """Lets time pass, asking the watch as everyone who waits does."""
    end, never = time.monotonic() + seconds, threading.Event()
    while (left := end - time.monotonic()) > 0:
        stop = watch.heard(None)
        if stop is not None:
            return stop
        never.wait(min(left, 0.05))
    return None


def _outcome(stop: Stop) -> Outcome:
    return "timeout" if stop.outcome == "timeout" else "budget" if stop.outcome == "budget" else "harness_error"
