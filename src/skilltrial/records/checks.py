"""The check types we ship, each with its options. Graders fulfil them, loaders fill and validate them.

Case rules are filled in by the loader: handbook and agent-skill-eval checks ignore case unless told, tool arguments never do.
"""

from __future__ import annotations

from pydantic import JsonValue, model_validator

from skilltrial.records.record import JsonObject, Record


class Substring(Record):
    """`contains`, `not_contains`: the final text holds `value`."""

    value: str
    case_sensitive: bool = False


class Substrings(Record):
    """`contains_all`, `contains_any`."""

    values: tuple[str, ...]
    case_sensitive: bool = False


class Pattern(Record):
    """`regex`, `not_regex`: Python search in the final text, or in the file at `path`, or in the files the run left."""

    pattern: str
    case_sensitive: bool = False
    flags: str = ""
    """Letters of i, m, s, x."""
    path: str | None = None
    """With `*` or `?`: all files of that form, of which one is enough."""
    files: bool = False
    """True: in any file that the run created or changed."""
    mock_calls: bool = False
    """True: in the calls that stand-in MCP servers answered, one line of JSON each: tool, input, output, verdict."""
    count: int | None = None
    """The exact number of matches wanted; None: at least one."""

    @model_validator(mode="after")
    def _one_place(self) -> Pattern:
        if self.files + self.mock_calls + (self.path is not None) > 1:
            raise ValueError("give one of 'files', 'path' and 'mock_calls'")
        if self.count is not None and self.count < 0:
            raise ValueError("'count' is 0 or more")
        return self


class PathOnly(Record):
    """`file_exists` (created or changed by the run), `file_not_exists`, `file_unchanged`."""

    path: str
    """`*` is anything but '/', `**` anything, `?` one character."""
    anywhere: bool = False
    """True: a file whose path ends in `path`, in any folder, is meant (agent-skill-eval's sentences)."""


class OnlyChanged(Record):
    """`only_changed`: every file that the run created, changed or deleted fits one of `paths`; none given: it touched no file."""

    paths: tuple[str, ...]


class FileText(Record):
    """`file_contains`, `file_not_contains`: the file at `path`, or the final text when None, holds `contains`."""

    contains: str
    path: str | None = None
    """With `*` or `?`: one of the files of that form is enough, for `file_not_contains` none may hold it."""
    case_sensitive: bool = False


class LoadedSkill(Record):
    """`loaded_skill`: the run's record shows that the skill was loaded. None: the skill under test."""

    skill: str | None = None
    loaded: bool = True
    """False: the record shows that it was not loaded (a trigger query that is a near miss)."""


class CommandText(Record):
    """`command_ran`, `command_not_ran`: a recorded command or tool call holds `command`, case ignored."""

    command: str


class CommandOrder(Record):
    """`command_order`: recorded commands hold these texts one after the other; others may stand between."""

    commands: tuple[str, ...]


class TestsPass(Record):
    """`tests_pass`: a recorded test command (holding `command`, when given) ended with success."""

    command: str | None = None


class NoOptions(Record):
    """`git_clean` and others without options."""


class GitFact(Record):
    """`git_branch`, `git_commit`, `git_pushed`, `pr_created`: the run made a new one."""

    absent: bool = False
    """True: it made none. The default in a case that should not trigger."""


class JsonPath(Record):
    """`json_path`, `json_path_not_exists`: dot path with list indexes in the JSON at `path`, or in the final text."""

    json_path: str
    path: str | None = None
    equals: JsonValue = None


class JsonDocument(Record):
    """`valid_json`: the file at `path`, or the final text, parses as JSON."""

    path: str | None = None


class JsonSchemaCheck(Record):
    """`json_schema`: the JSON at `path`, or the final text, satisfies `schema`."""

    json_schema: JsonObject
    path: str | None = None


class Number(Record):
    """`number`: the number found is `value` within `tolerance` (absolute) or `relative` (share of value).

    Found: the first group of `pattern`, else the last number of the final text (or of the file at `path`).
    """

    value: float
    tolerance: float = 0.0
    relative: float = 0.0
    pattern: str | None = None
    path: str | None = None


class CommandCheck(Record):
    """`command`: run in a scratch place with fixtures and delta after every process of the run is dead."""

    argv: tuple[str, ...] | None = None
    shell: str | None = None
    """Given to `sh -c`; exactly one of argv and shell."""
    exit_code: int = 0
    timeout_s: float = 60.0
    stdout_contains: str | None = None

    @model_validator(mode="after")
    def _one_form(self) -> CommandCheck:
        if (self.argv is None) == (self.shell is None):
            raise ValueError("give exactly one of 'argv' and 'shell'")
        return self


class ToolName(Record):
    """`tool_called`, `tool_not_called`."""

    name: str


class ToolArgEquals(Record):
    """`tool_arg_equals`: any call whose parsed argument at `path` deep-equals `value`; key order is irrelevant."""

    name: str
    path: str
    value: JsonValue


class ToolArgContains(Record):
    """`tool_arg_contains`: any call whose argument at `path` is a string holding `value`, case counts."""

    name: str
    path: str
    value: str


class ToolArgMatches(Record):
    """`tool_arg_matches`: any call whose argument at `path` is a string matching `pattern`."""

    name: str
    path: str
    pattern: str
    flags: str = ""


class ToolCallCount(Record):
    """`tool_call_count`: number of calls (named, or all) within the bounds, inclusive."""

    name: str | None = None
    min: int | None = None
    max: int | None = None


class ToolUsed(Record):
    """`tool_used`: number of calls of the tool whose arguments, as JSON text, match `input_match`; bounds inclusive."""

    name: str
    input_match: str | None = None
    min: int = 1
    max: int | None = None

    @model_validator(mode="after")
    def _bounds(self) -> ToolUsed:
        if self.min < 0 or (self.max is not None and self.max < self.min):
            raise ValueError("'min' is 0 or more, and 'max' not below it")
        return self


class Call(Record):
    """Calls of one tool, all or those whose arguments, as JSON text, match `input_match`."""

    name: str
    input_match: str | None = None


class ToolOrder(Record):
    """`tool_order`: both are called, and the first call of `before` comes before the first of `after`."""

    before: Call
    after: Call


class Rubric(Record):
    """`rubric`: the check's text goes to the judge."""


class Quality(Record):
    """`quality`: a judge's score from 0 to 10 where a case has neither check nor expected output."""


CHECKS: dict[str, type[Record]] = {
    "contains": Substring,
    "not_contains": Substring,
    "contains_all": Substrings,
    "contains_any": Substrings,
    "regex": Pattern,
    "not_regex": Pattern,
    "file_exists": PathOnly,
    "file_not_exists": PathOnly,
    "file_unchanged": PathOnly,
    "only_changed": OnlyChanged,
    "file_contains": FileText,
    "file_not_contains": FileText,
    "loaded_skill": LoadedSkill,
    "command_ran": CommandText,
    "command_not_ran": CommandText,
    "command_order": CommandOrder,
    "tests_pass": TestsPass,
    "git_clean": NoOptions,
    "git_branch": GitFact,
    "git_commit": GitFact,
    "git_pushed": GitFact,
    "pr_created": GitFact,
    "json_path": JsonPath,
    "json_path_not_exists": JsonPath,
    "valid_json": JsonDocument,
    "json_schema": JsonSchemaCheck,
    "number": Number,
    "command": CommandCheck,
    "tool_called": ToolName,
    "tool_not_called": ToolName,
    "tool_arg_equals": ToolArgEquals,
    "tool_arg_contains": ToolArgContains,
    "tool_arg_matches": ToolArgMatches,
    "tool_call_count": ToolCallCount,
    "tool_used": ToolUsed,
    "tool_order": ToolOrder,
    "rubric": Rubric,
    "quality": Quality,
}
JUDGED = frozenset({"rubric", "quality"})
"""Types that only a judge can grade."""
NEEDS_TOOLS = frozenset(
    {"loaded_skill", "command_ran", "command_not_ran", "command_order", "tests_pass"}
    | {name for name in CHECKS if name.startswith("tool_")}
)
"""Types that need a record of tool calls or events."""
INVERTED = frozenset({"git_branch", "git_commit", "git_pushed", "pr_created"})
"""Types that mean the opposite in a case that should not trigger, unless they say so themselves."""
NEEDS_GIT = frozenset({"git_clean"} | INVERTED)
"""Types that need a record of the repository's state."""
NEEDS_FILES = frozenset({"file_exists", "file_not_exists", "file_unchanged", "only_changed", "command"} | NEEDS_GIT)
"""Types that need a workspace. `file_contains`, `regex`, `json_path`, … need one only when they name a path."""
