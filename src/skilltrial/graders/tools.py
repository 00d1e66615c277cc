"""Checks on recorded tool calls, commands and skill loads. Without a record they give no verdict; prose is never searched."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, ClassVar

from skilltrial.graders._json import MISSING, at, same, short
from skilltrial.graders._patterns import Unsearchable, search
from skilltrial.graders._verdict import QUOTE, ByType, Scene, Verdict
from skilltrial.records.checks import (
    Call,
    CommandOrder,
    CommandText,
    LoadedSkill,
    TestsPass,
    ToolArgContains,
    ToolArgEquals,
    ToolArgMatches,
    ToolCallCount,
    ToolName,
    ToolOrder,
    ToolUsed,
)
from skilltrial.records.evidence import Event

_NO_RECORD = "this run has no record of tool calls"


def _calls(scene: Scene) -> tuple[Event, ...] | None:
    """Recorded calls in order; None: there is no record."""
    events = scene.view.record.events
    if events is None:
        return None
    calls = tuple(event for event in events if event.kind == "tool_call")
    names = {_plain(f"{server.name}_{tool.name}"): f"mcp__{server.name}__{tool.name}"
             for server in scene.case.mocks for tool in server.tools}  # fmt: skip
    return tuple(_renamed(call, names) for call in calls) if names else calls


def _renamed(call: Event, names: Mapping[str, str]) -> Event:
    """A call of a stand-in MCP server under the one name that checks use; each program has a spelling of its own."""
    name = names.get(_plain(call.name or "").removeprefix("mcp_"))
    return call.model_copy(update={"name": name}) if name else call


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", name.lower())


def _seen(calls: Iterable[Event]) -> str:
    counts = Counter(call.name or "?" for call in calls)
    if not counts:
        return "no tool was called"
    return "called: " + ", ".join(f"{name} × {count}" if count > 1 else name for name, count in counts.most_common(12))


# ---------------------------------------------------------------- tools by name
def tool_called(options: ToolName, scene: Scene) -> Verdict:
    calls = _calls(scene)
    if calls is None:
        return Verdict.ungraded(_NO_RECORD)
    mine = [call for call in calls if call.name == options.name]
    if mine:
        return Verdict.passed(f"'{options.name}' was called {_times(len(mine))}", _shown(mine[0]))
    return Verdict.failed(f"'{options.name}' was never called; {_seen(calls)}")


def tool_not_called(options: ToolName, scene: Scene) -> Verdict:
    calls = _calls(scene)
    if calls is None:
        return Verdict.ungraded(_NO_RECORD)
    mine = [call for call in calls if call.name == options.name]
    if mine:
        return Verdict.failed(f"'{options.name}' was called {_times(len(mine))}", _shown(mine[0]))
    return Verdict.passed(f"'{options.name}' was never called; {_seen(calls)}")


def tool_call_count(options: ToolCallCount, scene: Scene) -> Verdict:
    calls = _calls(scene)
    if calls is None:
        return Verdict.ungraded(_NO_RECORD)
    count = sum(options.name is None or call.name == options.name for call in calls)
    low, high = options.min or 0, options.max
    wanted = f"{low} to {high}" if high is not None else f"at least {low}"
    what = f"calls of '{options.name}'" if options.name else "calls"
    inside = low <= count and (high is None or count <= high)
    return Verdict("passed" if inside else "failed", f"{count} {what}, expected {wanted}", _seen(calls))


def tool_used(options: ToolUsed, scene: Scene) -> Verdict:
    """Passed when the number of fitting calls lies within the bounds."""
    calls = _calls(scene)
    if calls is None:
        return Verdict.ungraded(_NO_RECORD)
    try:
        mine = [calls[place] for place in _fitting(Call(name=options.name, input_match=options.input_match), calls)]
    except Unsearchable as error:
        return Verdict.ungraded(str(error))
    inside = options.min <= len(mine) and (options.max is None or len(mine) <= options.max)
    wanted = f"{options.min} to {options.max}" if options.max is not None else f"at least {options.min}"
    like = f" with /{options.input_match}/ in its input" if options.input_match is not None else ""
    reason = f"'{options.name}'{like} was called {_times(len(mine))}, expected {wanted}"
    return Verdict("passed" if inside else "failed", reason, _shown(mine[0]) if mine else _seen(calls))


def tool_order(options: ToolOrder, scene: Scene) -> Verdict:
    """Passed when the first call of one comes before the first of the other; it fails when either was never called."""
    calls = _calls(scene)
    if calls is None:
        return Verdict.ungraded(_NO_RECORD)
    try:
        first, second = (next(_fitting(one, calls), None) for one in (options.before, options.after))
    except Unsearchable as error:
        return Verdict.ungraded(str(error))
    for one, place in ((options.before, first), (options.after, second)):
        if place is None:
            return Verdict.failed(f"{_called(one)} was never called; {_seen(calls)}")
    assert first is not None and second is not None
    quote = f"{_shown(calls[min(first, second)])} … {_shown(calls[max(first, second)])}"
    if first < second:
        return Verdict.passed(f"{_called(options.before)} came before {_called(options.after)}", quote)
    return Verdict.failed(f"{_called(options.before)} came only after {_called(options.after)}", quote)


def _fitting(wanted: Call, calls: tuple[Event, ...]) -> Iterator[int]:
    """Places of the calls of that tool whose arguments fit. Raises Unsearchable."""
    for place, call in enumerate(calls):
        if call.name == wanted.name and (wanted.input_match is None or search(wanted.input_match, _input(call)) is not None):
            yield place


def _input(call: Event) -> str:
    """Arguments as compact JSON, which is what patterns of `claude plugin eval` are written for."""
    if isinstance(call.arguments, str):
        return call.arguments
    return json.dumps(call.arguments, ensure_ascii=False, separators=(",", ":"))


def _called(one: Call) -> str:
    return f"'{one.name}'" + (f" with /{one.input_match}/" if one.input_match is not None else "")


def _times(count: int) -> str:
    return {0: "never", 1: "once"}.get(count, f"{count} times")


def _shown(call: Event) -> str:
    return f"{call.name}({short(call.arguments, QUOTE)})"


# ---------------------------------------------------------------- tools by argument
def tool_arg_equals(options: ToolArgEquals, scene: Scene) -> Verdict:
    return _any_argument(options.name, options.path, lambda found: same(found, options.value), short(options.value), scene)


def tool_arg_contains(options: ToolArgContains, scene: Scene) -> Verdict:
    def fits(found: Any) -> bool:
        return isinstance(found, str) and options.value in found

    return _any_argument(options.name, options.path, fits, f"a text with {options.value!r}", scene)


def tool_arg_matches(options: ToolArgMatches, scene: Scene) -> Verdict:
    def fits(found: Any) -> bool:
        return isinstance(found, str) and search(options.pattern, found, flags=options.flags) is not None

    try:
        return _any_argument(options.name, options.path, fits, f"a text like /{options.pattern}/", scene)
    except Unsearchable as error:
        return Verdict.ungraded(str(error))


def _any_argument(name: str, path: str, fits: Callable[[Any], bool], wanted: str, scene: Scene) -> Verdict:
    """Passed when one call of that name has at `path` what is wanted."""
    calls = _calls(scene)
    if calls is None:
        return Verdict.ungraded(_NO_RECORD)
    mine = [call for call in calls if call.name == name]
    if not mine:
        return Verdict.failed(f"'{name}' was never called; {_seen(calls)}")
    found = [at(call.arguments, path) for call in mine]
    for call, value in zip(mine, found, strict=True):
        if value is not MISSING and fits(value):
            return Verdict.passed(f"'{name}' was called with {path} = {short(value)}", _shown(call))
    told = [short(value) for value in found if value is not MISSING]
    there = f"found {', '.join(told[:5])}" if told else "nothing lies there"
    return Verdict.failed(f"no call of '{name}' has at '{path}' {wanted}; {there}", _shown(mine[0]))


# ---------------------------------------------------------------- commands
def _words(value: Any) -> str:
    """All strings in a call's arguments; a list of words is one command line."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return "\n".join(_words(item) for item in value.values())
    if isinstance(value, list | tuple):
        return " ".join(_words(item) for item in value)
    return ""


def _ran(command: str, calls: tuple[Event, ...]) -> Event | None:
    wanted = command.casefold()
    return next((call for call in calls if wanted in f"{call.name or ''}\n{_words(call.arguments)}".casefold()), None)


def command_ran(options: CommandText, scene: Scene) -> Verdict:
    """Passed when a recorded command or tool call holds the text, case ignored."""
    calls = _calls(scene)
    if calls is None:
        return Verdict.ungraded("this run has no record of commands")
    call = _ran(options.command, calls)
    if call:
        return Verdict.passed(f"{options.command!r} was run", _shown(call))
    return Verdict.failed(f"no recorded command holds {options.command!r}; {_seen(calls)}")


def command_not_ran(options: CommandText, scene: Scene) -> Verdict:
    return command_ran(options, scene).turned()


def command_order(options: CommandOrder, scene: Scene) -> Verdict:
    """Passed when the texts are found in recorded commands one after the other, case ignored."""
    calls = _calls(scene)
    if calls is None:
        return Verdict.ungraded("this run has no record of commands")
    waiting = list(options.commands)
    found: list[str] = []
    for call in calls:
        if waiting and _ran(waiting[0], (call,)):
            found.append(_shown(call))
            waiting.pop(0)
    if not waiting:
        return Verdict.passed(f"{len(found)} commands ran in this order", " … ".join(found)[:QUOTE])
    after = f" after {options.commands[len(found) - 1]!r}" if found else ""
    return Verdict.failed(f"no recorded command holds {waiting[0]!r}{after}; {_seen(calls)}", " … ".join(found)[:QUOTE] or None)


_TEST_COMMAND = re.compile(
    r"\b(pytest|unittest|tox|nox|jest|vitest|mocha|rspec|phpunit|ctest|bats"
    r"|(npm|pnpm|yarn|bun|cargo|go|deno|dotnet|mix|swift|zig|rake|make|mvn|gradlew?|gradle)\b[^\n;|&]*\btests?)\b"
)
_FAILING = re.compile(
    r"(?i:\b[1-9]\d* (?:failed|failing|failures?|errors?)\b)|(?i:\b(?:failures|errors|failed)[=:] *[1-9]\d*)"
    r"|^FAILED\b|^--- FAIL|^FAIL\b|test result: FAILED",
    re.MULTILINE,
)
_PASSING = re.compile(r"\b[1-9]\d* (?:passed|passing)\b|^OK\b|^ok\s|\btest result: ok\b|^PASS\b|# fail 0\b", re.MULTILINE)


def tests_pass(options: TestsPass, scene: Scene) -> Verdict:
    """Passed when the last recorded test command ended well and its output counts no failure (`3 passed, 0 failed`)."""
    events = scene.view.record.events
    calls = _calls(scene)
    if events is None or calls is None:
        return Verdict.ungraded("this run has no record of commands")
    mine = [call for call in calls if _is_test(call, options.command)]
    if not mine:
        what = f"a test command with {options.command!r}" if options.command else "a test command"
        return Verdict.failed(f"there is no record of {what}; {_seen(calls)}")
    results = {event.call: event for event in events if event.kind == "tool_result" and event.call is not None}
    for call in reversed(mine):
        result = results.get(call.call or "")
        if result is not None:
            return _judged_result(result, _words(call.arguments) or call.name or "")
    return Verdict.ungraded("the test command was recorded without its result")


def _is_test(call: Event, command: str | None) -> bool:
    if command is not None:
        return _ran(command, (call,)) is not None
    return _TEST_COMMAND.search(_words(call.arguments)) is not None


def _judged_result(result: Event, command: str) -> Verdict:
    output = result.text or ""
    quote = "\n".join(output.strip().splitlines()[-4:])[-QUOTE:] or None
    shown = " ".join(command.split())[:120]
    failing = _FAILING.search(output)
    if result.ok is False or failing:
        why = f"the output says {failing.group().strip()!r}" if failing else "it ended with an error"
        return Verdict.failed(f"the last test command ({shown}) failed: {why}", quote)
    if result.ok or _PASSING.search(output):
        return Verdict.passed(f"the last test command ({shown}) succeeded", quote)
    return Verdict.ungraded(f"the record does not tell how the last test command ({shown}) ended")


# ---------------------------------------------------------------- skills
def loaded_skill(options: LoadedSkill, scene: Scene) -> Verdict:
    """Passed when the record shows the load, or, where that is asked, shows none; a source that cannot tell gives no verdict."""
    verdict = _loaded(options, scene)
    return verdict if options.loaded else verdict.turned()


def _loaded(options: LoadedSkill, scene: Scene) -> Verdict:
    record = scene.view.record
    subject = options.skill is None or options.skill == record.cell.split("/")[0]
    name = options.skill or "the skill under test"
    if record.events is None and record.activation != "forced":
        return Verdict.ungraded("this run has no record of skill events")
    loads = [event.name or "" for event in record.events or () if event.kind == "skill"]
    if subject and record.activation in ("activated", "read", "forced"):
        how = {"activated": "an event shows it", "read": "its SKILL.md was read", "forced": "it was given by construction"}
        return Verdict.passed(f"{name} was loaded: {how[record.activation]}", ", ".join(loads) or None)
    if options.skill and any(load == options.skill or load.endswith(f":{options.skill}") for load in loads):
        return Verdict.passed(f"an event shows that '{options.skill}' was loaded", ", ".join(loads))
    if record.activation == "unknown" and not loads:
        return Verdict.ungraded("this source has not reported any skill event, so it may not report them at all")
    return Verdict.failed(f"no event shows that {name} was loaded", f"loaded: {', '.join(loads)}" if loads else None)


class Tools(ByType):
    """Tool calls, commands, test runs and skill loads from the record of events."""

    rules: ClassVar = {
        "tool_called": tool_called,
        "tool_not_called": tool_not_called,
        "tool_arg_equals": tool_arg_equals,
        "tool_arg_contains": tool_arg_contains,
        "tool_arg_matches": tool_arg_matches,
        "tool_call_count": tool_call_count,
        "tool_used": tool_used,
        "tool_order": tool_order,
        "command_ran": command_ran,
        "command_not_ran": command_not_ran,
        "command_order": command_order,
        "tests_pass": tests_pass,
        "loaded_skill": loaded_skill,
    }


plugin = Tools()
