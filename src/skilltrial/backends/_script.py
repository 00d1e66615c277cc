"""The script of the fake backend: rules that say what a run of certain cells is like."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from skilltrial.errors import UsageError
from skilltrial.records.evidence import Activation, Event, Outcome, Usage
from skilltrial.records.record import JsonObject, Record
from skilltrial.seams import Job


class Where(Record):
    """Which runs a rule is for; every key given must fit."""

    arm: str | None = None
    case: str | None = None
    repetition: int | None = None
    skill: str | None = None
    contains: str | None = None
    """Text of the prompt, case ignored."""
    judge: bool | None = None
    """True: questions to the judge; False: runs of cells."""

    def fits(self, job: Job) -> bool:
        """Whether the run is meant. A question to the judge is about its cell's case, arm and repetition."""
        spot = place_in_plan(job)
        told: dict[str, Any] = {**spot, "judge": job.cell.startswith("judge:")}
        wanted = self.model_dump(exclude={"contains"}, exclude_none=True)
        if any(told.get(key) != value for key, value in wanted.items()):
            return False
        return self.contains is None or self.contains.casefold() in job.prompt.casefold()


class Rule(Record):
    """What happens in a run. What is not said is as in the backend's plain answer."""

    when: Where = Where()
    text: str | None = None
    """The answer; `{prompt}` stands for the prompt, `{output}` for what the last of the commands printed."""
    files: dict[str, str] = {}
    """Written into the workspace before the answer: path -> text."""
    delete: tuple[str, ...] = ()
    run: tuple[str, ...] = ()
    """Shell commands run in the workspace, after the files are there, each recorded as a call of `Bash` with its result;
    `$SKILL` is the skill's folder, empty in a baseline."""
    events: tuple[Event, ...] | None = None
    activation: Activation | None = None
    usage: Usage | None = None
    outcome: Outcome = "ok"
    reason: str | None = None
    setup: bool = False
    sleep_s: float = Field(default=0.0, alias="sleep")
    """Seconds the run takes; the time limit ends it earlier."""
    passed: bool | dict[str, bool] | None = None
    """As a judge: the verdict on every statement, or by its id; ids left out get none."""
    score: float | None = None
    """As a judge: the quality score from 0 to 10."""
    prefers: str | None = None
    """As a judge of pairs: the answer that holds this text wins by 8 to 3; both or neither is a tie."""


class Script(Record):
    """Rules in order; the first that fits decides."""

    rules: tuple[Rule, ...] = ()

    def rule(self, job: Job) -> Rule | None:
        return next((rule for rule in self.rules if rule.when.fits(job)), None)


def place_in_plan(job: Job) -> dict[str, str | int]:
    """Skill, case, target, arm and repetition as the cell's id tells them; what it does not tell is left out."""
    parts = job.cell.removeprefix("judge:").split("/")
    names = ("skill", "case", "target", "arm", "repetition")
    found: dict[str, str | int] = dict(zip(names, parts, strict=False))
    last = found.get("repetition")
    if isinstance(last, str) and last.isdecimal():
        found["repetition"] = int(last)
    return found


def script(source: str | JsonObject | None) -> Script:
    """A script from an object, a list of rules in it, inline JSON, or a YAML or JSON file.

    Raises:
        UsageError: no such file, or something in it that is no rule.
    """
    if source is None:
        return Script()
    body, label = _read(source) if isinstance(source, str) else (source, "script")
    try:
        return Script.model_validate({"rules": body} if isinstance(body, list) else body)
    except ValidationError as error:
        fault = error.errors()[0]
        spot = ".".join(map(str, fault["loc"]))
        raise UsageError(f"{label}: {spot}: {fault['msg']}", f"a rule has: {', '.join(Rule.model_fields)}") from None


def _read(source: str) -> tuple[Any, str]:
    if source.lstrip().startswith(("{", "[")):
        try:
            return json.loads(source), "script"
        except ValueError as error:
            raise UsageError(f"script: no JSON: {error}") from None
    path = Path(source).expanduser()
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"the fake backend's script '{source}' cannot be read: {error}") from None
    import yaml

    try:
        return yaml.safe_load(text), source
    except yaml.YAMLError as error:
        raise UsageError(f"{source}: no YAML: {error}") from None
