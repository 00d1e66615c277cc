"""What the readers of all agent programs share: from lines to events, and from the end of a stream to a run."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, ClassVar

from skilltrial.backends import _verdict
from skilltrial.backends._json_line import parsed, text_at
from skilltrial.backends._verdict import Story, Trouble, Verdict
from skilltrial.records.evidence import Activation, AgentRun, Event, Inventory, Timing, Usage
from skilltrial.seams import Exit, Stop

_SKILL_FILE = re.compile(r"([^/\\\s\"'`]+)[/\\]+SKILL\.md")
_LONGEST_RESULT = 16_384
"""Characters of a tool's result that an event keeps: head and tail."""


class Reader:
    """Fed line by line, live and on recordings alike. Pure: no clock, no files; it never raises for what a program printed.

    A program's own reader fills `_take`, and says at its final record how the run ended.
    """

    has_final_record: ClassVar[bool] = True
    noise: ClassVar[re.Pattern[str] | None] = None
    """Lines of the error stream that say nothing."""
    login_hint: str = ""
    """What to do when the program is not let in."""

    def __init__(self, skills: Sequence[str] = (), *, forced: bool = False) -> None:
        self.skills = frozenset(skills)
        """Names of the skills of this arm; () in a baseline."""
        self.forced = forced
        self.events: list[Event] = []
        self.usage = Usage()
        self.requests: int | None = None
        """Answers of the model so far, where they can be counted."""
        self.turns: int | None = None
        self.inventory = Inventory()
        self.model: str | None = None
        self.version: str | None = None
        self.answer = ""
        """The final text so far."""
        self.ended = False
        self.failure: Trouble | None = None
        self.trouble: Trouble | None = None
        self.doom: Stop | None = None
        """Why waiting for more is no use."""
        self.blind = False
        """Something ran whose events the program does not show."""
        self.warnings: list[str] = []
        self.reached = False
        self._loaded: set[str] = set()
        self._read: set[str] = set()
        self._calls: dict[str, Event] = {}
        self._unreadable = 0
        self._at_s: float | None = None

    # ------------------------------------------------------------ the stream
    def feed(self, line: bytes, at_s: float | None = None) -> tuple[Event, ...]:
        """The events on one line; `at_s` is stamped on them."""
        record = parsed(line)
        if record is None:
            self._unreadable += bool(line.strip())
            return ()
        self._at_s = at_s
        before = len(self.events)
        self._take(record)
        return tuple(self.events[before:])

    def _take(self, record: dict[str, Any]) -> None:
        raise NotImplementedError

    def file(self, name: str, data: bytes) -> None:
        """A file that the program left for us, before `close`."""

    # ------------------------------------------------------------ what a program's reader says
    def _add(self, **fields: Any) -> Event:
        event = Event(at_s=self._at_s, **fields)
        self.events.append(event)
        return event

    def _say(self, text: str, parent: str | None = None) -> None:
        """The model said something; only what stands outside sub-agents is the answer."""
        if not text:
            return
        self._replied()
        self._add(kind="text", text=text, parent=parent)
        if parent is None:
            self.answer = text

    def _show(self, name: str, text: str, parent: str | None = None) -> None:
        """Something that is neither answer nor tool: a thought, a text that the program put in."""
        if text:
            self._add(kind="other", name=name, text=_cut(text), parent=parent)

    def _call(self, name: str | None, call: str | None, arguments: Any, parent: str | None = None) -> None:
        self._replied()
        event = self._add(kind="tool_call", name=name, call=call, arguments=arguments, parent=parent)
        if call:
            self._calls[call] = event

    def _result(self, call: str | None, ok: bool | None, text: str, parent: str | None = None) -> None:
        """A tool's result; a read of a SKILL.md is noticed here, since only a call that worked is one."""
        made = self._calls.get(call or "")
        name = made.name if made else None
        self._add(kind="tool_result", name=name, call=call, ok=ok, text=_cut(text), parent=parent)
        if made and ok is not False:
            self._read |= skills_read(made.arguments, text)

    def _skill_result(self, tool: str, key: str, call: str | None, ok: bool, text: str, parent: str | None = None) -> None:
        """A result that is of the skill tool proves a load, or tells why there is none; others are left alone."""
        made = self._calls.get(call or "")
        name = text_at(made.arguments, key) if made and made.name == tool else ""
        if name and ok:
            self._load(name, parent)
        elif name:
            self._warn(f"the skill '{name}' was called and could not be loaded: {' '.join(text.split())[:200]}")

    def _load(self, name: str, parent: str | None = None) -> None:
        """The program proved that it loaded a skill."""
        if name:
            self._loaded.add(name)
            self._add(kind="skill", name=name, parent=parent)

    def _fail(self, trouble: Trouble) -> None:
        """A call failed; that is no verdict, for the program may try again."""
        self.trouble = trouble
        self._add(kind="error", text=str(trouble))

    def _replied(self) -> None:
        self.reached = True
        self.trouble = None

    def _warn(self, text: str) -> None:
        if text not in self.warnings:
            self.warnings.append(text)

    # ------------------------------------------------------------ the end
    def close(self, exit_: Exit) -> AgentRun:
        """The run. Its times are the caller's to set."""
        complaint = _verdict.complaint_of(exit_.stderr, self.noise)
        self._finish(complaint)
        verdict = self._verdict(exit_, complaint)
        if verdict.kind == "login" and verdict.setup and self.login_hint:
            verdict = verdict._replace(reason=f"{verdict.reason}; {self.login_hint}")
        return AgentRun(
            outcome=verdict.outcome,
            reason=verdict.reason,
            text=self.answer,
            events=tuple(self.events),
            activation=self._activation(verdict),
            inventory=self.inventory,
            usage=self.usage,
            timing=Timing(started_at="", duration_s=exit_.duration_s, turns=self.turns, model_requests=self.requests),
            model=self.model,
            program_version=self.version,
            warnings=(*self.warnings, *self._notes(exit_, verdict)),
            setup=verdict.setup,
        )

    def _finish(self, complaint: str) -> None:
        """A last chance to take what is pending, or what only the error stream tells."""

    def _verdict(self, exit_: Exit, complaint: str) -> Verdict:
        trouble = self.trouble or (_told(complaint) if not self.ended else None)
        return _verdict.judged(Story(self.ended, self.failure, trouble, self.reached), exit_, complaint)

    def _notes(self, exit_: Exit, verdict: Verdict) -> list[str]:
        notes = []
        if not self.ended and exit_.stop is None:
            notes.append("no final record")
        if verdict.outcome == "ok" and exit_.code:
            notes.append(f"it ended with status {exit_.code} after a good final record")
        if verdict.outcome == "ok" and not self.answer.strip():
            notes.append("the final answer is empty")
        if verdict.outcome == "ok" and self.usage.output_tokens is None:
            notes.append("the program reported no usage")
        elif not self.ended and self.usage.output_tokens is not None:
            notes.append("usage is what was told before the end: a lower bound")
        if self._unreadable and self.has_final_record:
            lines = "1 line" if self._unreadable == 1 else f"{self._unreadable} lines"
            notes.append(f"{lines} of output could not be read")
        return notes

    def _activation(self, verdict: Verdict) -> Activation:
        """Only a positive match or the end of a run that worked decides; a run cut short without a match tells nothing."""
        if not self.skills:
            return "none_expected"
        if self.forced:
            return "forced"
        if any(_is(name, loaded) for name in self.skills for loaded in self._loaded):
            return "activated"
        if self.skills & self._read:
            return "read"
        return "not_seen" if verdict.outcome == "ok" and not self.blind else "unknown"


def skills_read(arguments: Any, output: str) -> set[str]:
    """Names of the skills whose SKILL.md a call read: by its path, or by its front matter where the path is relative."""
    words = str(arguments)
    if "SKILL.md" not in words:
        return set()
    shown = re.findall(r"^(?:\d+[:\t ]+)?name:[ \t]*[\"']?([^\s\"']+)", output, re.MULTILINE)
    return {*_SKILL_FILE.findall(words), *shown}


def _is(name: str, loaded: str) -> bool:
    return loaded == name or loaded.endswith(f":{name}")


def _cut(text: str) -> str:
    if len(text) <= _LONGEST_RESULT:
        return text
    half = _LONGEST_RESULT // 2
    return f"{text[:half]}\n[{len(text) - 2 * half} characters cut]\n{text[-half:]}"


def _told(complaint: str) -> Trouble | None:
    """The last failed call that only the error stream tells of; complaints of other kinds are none."""
    troubles = (Trouble(line) for line in reversed(complaint.splitlines()))
    return next((trouble for trouble in troubles if trouble.what() != "other"), None)
