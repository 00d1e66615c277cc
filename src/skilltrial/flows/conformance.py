"""Whether an executable keeps to the adapter protocol: about thirty behaviours, each with the sentence of its rule."""

from __future__ import annotations

import json
from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Literal, NamedTuple

from skilltrial.backends import _handbook, _streamed
from skilltrial.flows.conformance_runs import GOOD, NAME, NO_FILES, Ran, Runs
from skilltrial.records.record import Record

State = Literal["kept", "broken", "not told"]


class Kept(Record):
    """One behaviour of an adapter, and whether it kept to the rule."""

    behaviour: str
    rule: str
    state: State
    found: str = ""
    """What was found instead; for `not told`, why it could not be looked at."""


class Skip(Exception):
    """The behaviour cannot be looked at; the text says why."""


Look = Callable[[Runs], str]
"""What was found instead of what the rule asks for; empty: the rule is kept."""


@dataclass(frozen=True, slots=True)
class Behaviour:
    """A rule, and how to see whether it is kept."""

    name: str
    rule: str
    look: Look


class Checked(NamedTuple):
    """All behaviours of one adapter."""

    rows: tuple[Kept, ...]

    @property
    def broken(self) -> tuple[Kept, ...]:
        return tuple(row for row in self.rows if row.state == "broken")


def check(runs: Runs, only: Container[str] | None = None) -> Checked:
    """Looks at every behaviour, or at those named `only`; all together run the adapter about fifteen times."""
    wanted = [one for one in behaviours(runs.protocol) if only is None or one.name in only]
    return Checked(tuple(_looked(behaviour, runs) for behaviour in wanted))


def behaviours(protocol: int) -> tuple[Behaviour, ...]:
    """Those of the version."""
    return (*_COMMON, *(_SECOND if protocol == _streamed.VERSION else _FIRST))


def _looked(behaviour: Behaviour, runs: Runs) -> Kept:
    try:
        found = behaviour.look(runs)
    except Skip as reason:
        return Kept(behaviour=behaviour.name, rule=behaviour.rule, state="not told", found=str(reason))
    return Kept(behaviour=behaviour.name, rule=behaviour.rule, state="broken" if found else "kept", found=found)


# ---------------------------------------------------------------- what is looked at
def _answers(name: str, runs: Runs) -> str:
    """The request of that name got an answer that keeps to the protocol."""
    return runs.good(name).trouble


def _exits_0(runs: Runs) -> str:
    return "; ".join(f"{name}: {told}" for name in GOOD if (told := _status(runs.good(name))))


def _status(ran: Ran) -> str:
    if ran.exit is None:
        return ran.trouble
    if ran.exit.stop is not None:
        return ran.exit.stop.reason
    return (
        "" if ran.exit.code == 0 else f"status {ran.exit.code if ran.exit.code is not None else f'by signal {ran.exit.signal}'}"
    )


def _in_time(runs: Runs) -> str:
    return "; ".join(f"{name}: {ran.exit.stop.reason}" for name, ran in _good(runs) if ran.exit and ran.exit.stop)


def _good(runs: Runs) -> Iterator[tuple[str, Ran]]:
    for name in GOOD:
        yield name, runs.good(name)


def _within_bytes(runs: Runs) -> str:
    return "; ".join(f"{name}: more than 1 MiB" for name, ran in _good(runs) if ran.exit and ran.exit.overflow)


def _left_running(runs: Runs) -> str:
    return "; ".join(f"{name}: {ran.exit.leaked} left" for name, ran in _good(runs) if ran.exit and ran.exit.leaked)


def _names_no_skill(runs: Runs) -> str:
    loads = runs.good("without_skill").loads
    return f"it says it loaded {', '.join(map(repr, loads))}" if loads else ""


def _names_the_skill(runs: Runs) -> str:
    strange = [name for name in runs.good("with_skill").loads if name != NAME]
    return f"it says it loaded {', '.join(map(repr, strange))}; the request named '{NAME}'" if strange else ""


def _untouched(part: str, runs: Runs) -> str:
    changed = [f"{name}: {path}" for name, ran in _good(runs) for path in ran.changed if path.startswith(part)]
    return f"changed or gone: {', '.join(changed[:5])}" if changed else ""


def _no_skill_folder(runs: Runs) -> str:
    found = [path for path in runs.good("without_skill").created if path.startswith("skills/")]
    return f"there is {found[0]} afterwards" if found else ""


def _stays_inside(runs: Runs) -> str:
    found = [f"{name}: {path}" for name, ran in _good(runs) for path in ran.outside]
    return f"written beside the workspace: {', '.join(found[:5])}" if found else ""


def _counts(runs: Runs) -> str:
    return "; ".join(f"{name}: {text}" for name, ran in _good(runs) for text in ran.warnings if text.startswith("usage."))


def _refuses(name: str, runs: Runs) -> str:
    ran = runs.bad(name)
    if ran.exit is not None and ran.exit.stop is not None:
        return f"it went on for {runs.timeout_s:g} s"
    return "it ended with status 0" if ran.exit is not None and ran.exit.code == 0 else ""


def _refuses_silently(runs: Runs) -> str:
    for name in ("no JSON", "nothing", "another version"):
        stdout = runs.bad(name).stdout
        if b'"output"' in stdout:
            return f"asked with {name} it printed {stdout[:80]!r}"
    return ""


def _refuses_alike(runs: Runs) -> str:
    first, again = runs.bad("no JSON"), runs.bad("no JSON again")
    codes = [ran.exit.code if ran.exit else None for ran in (first, again)]
    return f"status {codes[0]}, then {codes[1]}" if codes[0] != codes[1] else ""


def _is_stopped(runs: Runs) -> str:
    ran = _stopped(runs)
    if ran.exit is not None and ran.exit.signal == 9:
        return "it was still there when the time of grace was over, and had to be killed"
    return ""


def _stopped(runs: Runs) -> Ran:
    ran = runs.stopped()
    if ran.exit is None or ran.exit.stop is None:
        raise Skip("it ended before it could be stopped")
    return ran


def _leaves_nothing_when_stopped(runs: Runs) -> str:
    ran = _stopped(runs)
    return f"{ran.exit.leaked} left" if ran.exit and ran.exit.leaked else ""


def _two_at_once(runs: Runs) -> str:
    return "; ".join(dict.fromkeys(ran.trouble for ran in runs.together() if ran.trouble))


_COMMON = (
    Behaviour("baseline", "A request in mode without_skill, with skill null, is answered.", partial(_answers, "without_skill")),
    Behaviour("skill", "A request in mode with_skill, with the skill's name and path, is answered.", partial(_answers, "with_skill")),
    Behaviour("no fixtures", "An empty list of files is answered.", partial(_answers, NO_FILES)),
    Behaviour("large prompt", "A prompt of 200,000 characters is answered: it does not fit into an argument or a variable.", partial(_answers, "large prompt")),
    Behaviour("unicode", "A prompt with any Unicode text is answered in UTF-8, whatever the locale is.", partial(_answers, "unicode")),
    Behaviour("prompt like an option", "A prompt that looks like an option is a prompt.", partial(_answers, "prompt like an option")),
    Behaviour("status", "An answer ends with status 0.", _exits_0),
    Behaviour("time", "It ends by itself within the time limit.", _in_time),
    Behaviour("size", "It writes no more than 1 MiB to each stream.", _within_bytes),
    Behaviour("no process left", "Every process it started has ended when it ends.", _left_running),
    Behaviour("baseline loads nothing", "Without a skill no skill_loaded event is told.", _names_no_skill),
    Behaviour("skill's name", "A skill_loaded event about the skill has the name of the request.", _names_the_skill),
    Behaviour("fixtures stay", "Files below inputs/ are the agent's to change, not the adapter's: asked to change nothing, they stay.", partial(_untouched, "inputs/")),
    Behaviour("skill stays", "The skill's package is read, never changed.", partial(_untouched, "skills/")),
    Behaviour("baseline has no skill", "Without a skill there is no skills/ folder, before or afterwards.", _no_skill_folder),
    Behaviour("workspace only", "It writes nothing beside its workspace.", _stays_inside),
    Behaviour("counts", "Counts of tokens are whole numbers that are not negative, and so is no cost below 0.", _counts),
    Behaviour("refuses no JSON", "A request that is no JSON is refused with a status other than 0.", partial(_refuses, "no JSON")),
    Behaviour("refuses nothing", "An empty request is refused with a status other than 0.", partial(_refuses, "nothing")),
    Behaviour("refuses another version", "A protocol_version it does not know is refused with a status other than 0.", partial(_refuses, "another version")),
    Behaviour("refuses half a request", "A request without a prompt is refused with a status other than 0.", partial(_refuses, "no prompt")),
    Behaviour("refuses without answering", "A refused request gets no output: it would be graded.", _refuses_silently),
    Behaviour("refuses alike", "The same bad request is refused in the same way again.", _refuses_alike),
    Behaviour("stops", "After SIGTERM it ends within the time of grace.", _is_stopped),
    Behaviour("stops whole", "After SIGTERM no process of it is left.", _leaves_nothing_when_stopped),
    Behaviour("two at once", "Two of it run at once, each in its own workspace.", _two_at_once),
)  # fmt: skip


# ---------------------------------------------------------------- version 1
def _bodies(runs: Runs) -> Iterator[dict[str, object]]:
    found = False
    for _, ran in _good(runs):
        try:
            body = _handbook.an_object(ran.stdout, "the response")
        except _handbook.Violation:
            continue
        found = True
        yield body
    if not found:
        raise Skip("no answer is a JSON object")


def _one_object(runs: Runs) -> str:
    return _violations(lambda ran: _handbook.an_object(ran.stdout, "standard output"), runs)


def _violations(read: Callable[[Ran], object], runs: Runs) -> str:
    found = []
    for name, ran in _good(runs):
        try:
            read(ran)
        except _handbook.Violation as error:
            found.append(f"{name}: {error}")
    return "; ".join(found[:3])


def _in_each(read: Callable[[dict[str, object]], object], runs: Runs) -> str:
    found = []
    for body in _bodies(runs):
        try:
            read(body)
        except _handbook.Violation as error:
            found.append(str(error))
    return "; ".join(dict.fromkeys(found[:3]))


def _output(body: dict[str, object]) -> None:
    if not isinstance(body.get("output"), str):
        found = _handbook.kind_of(body["output"]) if "output" in body else "none"
        raise _handbook.Violation(f"'output' must be a string, found {found}")


_FIRST = (
    Behaviour("one object", "Standard output is one JSON object in UTF-8 and nothing else; logs go to standard error.", _one_object),
    Behaviour("output", "'output' is a string, which may be empty.", partial(_in_each, _output)),
    Behaviour("keys", "The response has no keys but output, events and usage.", partial(_in_each, lambda body: _handbook.no_more_than(_handbook.RESPONSE_KEYS, body, "the response"))),
    Behaviour("events", "Each event has a type that is not empty, at most a name that is text, and no other key.", partial(_in_each, lambda body: _handbook.events_of(body.get("events", [])))),
    Behaviour("usage", "Every value of usage is a finite number.", partial(_in_each, lambda body: _handbook.usage_of(body.get("usage", {})))),
)  # fmt: skip


# ---------------------------------------------------------------- version 2
def _first_line(runs: Runs) -> str:
    def read(ran: Ran) -> None:
        reader = _streamed.Reader()
        reader.feed(ran.stdout.partition(b"\n")[0] or b"{}")
        if reader.fault:
            raise reader.fault

    return _violations(read, runs)


def _reader(ran: Ran) -> _streamed.Reader:
    reader = _streamed.Reader()
    for line in ran.stdout.splitlines(keepends=True):
        reader.feed(line)
    return reader


def _lines(runs: Runs) -> str:
    return _violations(lambda ran: _reader(ran).close(), runs)


def _able(what: str, runs: Runs) -> None:
    if what not in (_reader(runs.good("with_skill")).capabilities or ()):
        raise Skip(f"it does not say that it can do '{what}'")


def _known_capabilities(runs: Runs) -> str:
    strange = (_reader(runs.good("with_skill")).capabilities or frozenset()) - _streamed.CAPABILITIES
    return f"unknown: {', '.join(sorted(strange))}" if strange else ""


def _same_capabilities(runs: Runs) -> str:
    found = {_reader(ran).capabilities for _, ran in _good(runs)}
    return "they differ from run to run" if len(found) > 1 else ""


def _files_there(runs: Runs) -> str:
    _able("files", runs)
    return "; ".join(f"{name}: {text}" for name, ran in _good(runs) for text in ran.warnings if text.startswith("files:"))


def _usage_given(runs: Runs) -> str:
    _able("usage", runs)
    usage = _reader(runs.good("with_skill")).usage
    return (
        "" if usage.input_tokens is not None and usage.output_tokens is not None else "input_tokens or output_tokens is missing"
    )


def _result_after_stop(runs: Runs) -> str:
    _able("cancellation", runs)
    last = _stopped(runs).stdout.strip().rpartition(b"\n")[2]
    try:
        told = json.loads(last or b"null")
    except ValueError:
        told = None
    return "" if isinstance(told, dict) and told.get("type") == "result" else "the last line is no result"


_SECOND = (
    Behaviour("first line", "The first line is {\"protocol_version\": 2, \"capabilities\": […]}.", _first_line),
    Behaviour("lines", "Every further line is one JSON object, an event or at last the one result, and nothing follows it.", _lines),
    Behaviour("capabilities known", "Capabilities are events, files, usage and cancellation.", _known_capabilities),
    Behaviour("capabilities constant", "It says the same capabilities whatever it is asked.", _same_capabilities),
    Behaviour("files there", "With the capability 'files', every file of the result lies in the workspace.", _files_there),
    Behaviour("usage given", "With the capability 'usage', the result has input_tokens and output_tokens.", _usage_given),
    Behaviour("result after SIGTERM", "With the capability 'cancellation', a last result is sent after SIGTERM.", _result_after_stop),
)  # fmt: skip
