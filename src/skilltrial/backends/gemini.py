"""Google's Gemini CLI, run without a terminal."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from skilltrial.backends import _mocks
from skilltrial.backends._address import bare
from skilltrial.backends._command_line import CommandLine, abilities
from skilltrial.backends._json_line import at, count_at, name_at, text_at
from skilltrial.backends._login import Doors, Kept, whole_copy
from skilltrial.backends._stream import Reader
from skilltrial.backends._verdict import Trouble, Verdict
from skilltrial.records.evidence import Usage
from skilltrial.seams import Capabilities, Exit, Job

_HINT = "set GEMINI_API_KEY, or start `gemini` once and log in with Google"
_OAUTH = ".gemini/oauth_creds.json"
_NO_TOOL = "none"
"""Name of no tool: an empty list would mean all of them."""


class Gemini(CommandLine):
    """Google's `gemini`, run without a terminal."""

    name: ClassVar[str] = "gemini"
    program: ClassVar[str] = "gemini"
    package: ClassVar[str] = "npm install -g @google/gemini-cli"
    capabilities: ClassVar[Capabilities] = abilities(
        activation=True, tools=True, tokens=True, turns=True, endpoint=True, mcp=True, prices="google"
    )
    doors: ClassVar[Doors] = Doors(
        command=_HINT,
        variables=("GEMINI_API_KEY",),
        clouds={"GOOGLE_GENAI_USE_VERTEXAI": ("GOOGLE_API_KEY", "GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION")},
        files=(Kept(_OAUTH, whole_copy(_OAUTH, "access_token")),),
    )
    usual_hosts: ClassVar[tuple[str, ...]] = (
        "generativelanguage.googleapis.com:443", "cloudcode-pa.googleapis.com:443", "oauth2.googleapis.com:443",
    )  # fmt: skip
    key_variable: ClassVar[str] = "GEMINI_API_KEY"
    usual_keys: ClassVar[tuple[str, ...]] = ("GEMINI_API_KEY",)
    keeps: ClassVar[frozenset[str]] = frozenset({"max_turns"})
    counts: ClassVar[frozenset[str]] = frozenset({"requests"})
    home_only: ClassVar[frozenset[str]] = frozenset({"settings", "allowed_tools", "max_turns"})

    def arguments(self, job: Job) -> tuple[str, ...]:
        given = ["-o", "stream-json", "--skip-trust"]
        given += ["-m", self.model] if self.model else []
        return tuple(given) if job.judging else (*given, "--yolo")

    def environment(self, job: Job) -> Mapping[str, str]:
        url = self.endpoint_of(job)
        return {
            "GEMINI_TELEMETRY_ENABLED": "false",
            "GEMINI_CLI_TRUST_WORKSPACE": "true",
            "NO_BROWSER": "1",
            **({"GOOGLE_GEMINI_BASE_URL": bare(url, "/v1beta", "/v1")} if url else {}),
        }

    def isolation(self, home: Path) -> Mapping[str, str]:
        return {"GEMINI_CLI_HOME": str(home)}

    def home_files(self, job: Job) -> Mapping[str, bytes]:
        settings: dict[str, Any] = {
            "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False, "maxAttempts": 2},
            "privacy": {"usageStatisticsEnabled": False},
            "telemetry": {"enabled": False},
        }
        if job.limits.max_turns is not None:
            settings["model"] = {"maxSessionTurns": job.limits.max_turns}
        if job.judging:
            settings |= {"tools": {"core": [_NO_TOOL]}, "skills": {"enabled": False}}
        elif self.allowed_tools:
            settings["tools"] = {"core": ["activate_skill", *self.allowed_tools]}
        settings |= _mocks.as_settings(job)
        return {".gemini/settings.json": self.merged(settings)}

    def login_files(self, source: str, files: Mapping[str, bytes]) -> Mapping[str, bytes]:
        """Without the way in named in its settings it asks for one and ends."""
        ways = {"~/" + _OAUTH: "oauth-personal", "GOOGLE_GENAI_USE_VERTEXAI": "vertex-ai"}
        settings = json.loads(files[".gemini/settings.json"])
        settings.setdefault("security", {}).setdefault("auth", {}).setdefault("selectedType", ways.get(source, "gemini-api-key"))
        return {**files, ".gemini/settings.json": json.dumps(settings, indent=1).encode()}

    def reader(self, skills: Sequence[str] = (), *, forced: bool = False) -> Reader:
        return GeminiReader(skills, forced=forced)


plugin = Gemini


class GeminiReader(Reader):
    """`-o stream-json`: text comes in pieces, and the pieces after the last tool call are the answer."""

    login_hint = _HINT
    noise: ClassVar[re.Pattern[str] | None] = re.compile(
        r"^Warning: (Basic terminal|256-color)|^YOLO mode|^\[STARTUP\]|ListenersExceededWarning|^\(Use `node --trace"
        r"|^(Ripgrep|Skill|Loaded cached)|^Error executing tool"
    )
    _FATAL: ClassVar[dict[int, Trouble]] = {
        41: Trouble("it found no way to log in", kind="login"),
        53: Trouble("turn limit reached", kind="turns"),
    }

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._pieces: list[str] = []
        self._said_error: str | None = None
        self._answering = False

    def _take(self, record: dict[str, Any]) -> None:
        kind = text_at(record, "type")
        if kind == "message":
            if text_at(record, "role") == "assistant":
                self._answers()
                self._replied()
                self._pieces.append(text_at(record, "content"))
            return
        self._flush()
        if kind == "init":
            self.model = name_at(record, "model")
        elif kind == "tool_use":
            self._answers()
            self._call(name_at(record, "tool_name"), name_at(record, "tool_id"), at(record, "parameters"))
        elif kind == "tool_result":
            self._answering = False
            self._done(record)
        elif kind == "error":
            self._error(text_at(record, "message"), text_at(record, "severity"))
        elif kind == "result":
            self._end(record)

    def _answers(self) -> None:
        """One answer of the model comes in a row, its text first and then all its calls; the next one follows their results."""
        if not self._answering:
            self.requests, self._answering = (self.requests or 0) + 1, True

    def _flush(self) -> None:
        if self._pieces:
            self._say("".join(self._pieces))
            self._pieces.clear()

    def _done(self, record: dict[str, Any]) -> None:
        call, ok = name_at(record, "tool_id"), text_at(record, "status") == "success"
        text = text_at(record, "output") or text_at(record, "error", "message")
        self._result(call, ok, text)
        self._skill_result("activate_skill", "name", call, ok, text)

    def _error(self, message: str, severity: str) -> None:
        self._said_error = message
        self._add(kind="error", text=message)
        if severity == "warning":
            self._warn(message)

    def _end(self, record: dict[str, Any]) -> None:
        self.ended = True
        stats = at(record, "stats")
        self._totals(stats)
        message = text_at(record, "error", "message") or self._said_error or "the run failed"
        if text_at(record, "status") != "success":
            out_of_turns = text_at(record, "error", "type") == "FatalTurnLimitedError"
            self.failure = Trouble(message, kind="turns" if out_of_turns else None)
        elif "Loop detected" in message:
            self.failure = Trouble(message, kind="turns")

    def _totals(self, stats: Any) -> None:
        """What it thought is in the sum only; it belongs to the output."""
        given, answered, whole = (count_at(stats, name) for name in ("input_tokens", "output_tokens", "total_tokens"))
        if not given and not answered:
            return
        self.reached = True
        thought = max(0, whole - given - answered) if whole is not None and given is not None and answered is not None else None
        self.usage = Usage(
            input_tokens=given,
            cached_tokens=count_at(stats, "cached"),
            output_tokens=None if answered is None else answered + (thought or 0),
            reasoning_tokens=thought,
        )

    def _finish(self, complaint: str) -> None:
        self._flush()

    def _verdict(self, exit_: Exit, complaint: str) -> Verdict:
        """Its exit status is an HTTP status modulo 256, or a number of its own; it only tells where the stream has no end."""
        if not self.ended and exit_.stop is None and exit_.code in self._FATAL:
            self.ended, self.failure = True, self._FATAL[exit_.code]
        return super()._verdict(exit_, complaint)
