"""Stand-in MCP servers in the home of a run: what is put there, how a program is told, and the calls that came."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from skilltrial.backends import _mcp_server
from skilltrial.records.evidence import AgentRun, Event
from skilltrial.records.mocks import MockServer
from skilltrial.seams import Job, Place
from skilltrial.system.files import inside, read_capped

FOLDER = ".skilltrial-mocks"
LOG = f"{FOLDER}/calls.jsonl"
LOG_NAME = "mock_calls.jsonl"
_LARGEST_LOG = 16 * 1024 * 1024


class Start(NamedTuple):
    """How a program is to start one server."""

    command: str
    args: tuple[str, ...]


def files(job: Job) -> Mapping[str, bytes]:
    """The server and what each is to answer, by path below the home; nothing for a case that has none."""
    if not job.mocks or not job.own_home:
        return {}
    specs = {f"{FOLDER}/{server.name}.json": server.to_json().encode() for server in job.mocks}
    return {f"{FOLDER}/server.py": Path(_mcp_server.__file__).read_bytes(), **specs}


def starts(job: Job) -> dict[str, Start]:
    """Each server by name."""
    if not job.mocks or job.place is None or not job.own_home:
        return {}
    home = job.place.home
    python = "python3" if job.place.level in ("docker", "podman") else sys.executable
    return {
        server.name: Start(python, ("-I", f"{home}/{FOLDER}/server.py", f"{home}/{FOLDER}/{server.name}.json", f"{home}/{LOG}"))
        for server in job.mocks
    }


def as_settings(job: Job) -> dict[str, Any]:
    """The key `mcpServers` as Gemini CLI and those that grew from it read it."""
    servers = {name: {"command": s.command, "args": list(s.args), "trust": True} for name, s in starts(job).items()}
    return {"mcpServers": servers} if servers else {}


def told(run: AgentRun, place: Place, servers: tuple[MockServer, ...]) -> AgentRun:
    """The run with the calls that its servers answered.

    One that never started is our fault, and a call that the suite does not allow ends the run as the agent's.
    """
    path = inside(place.home, LOG)
    read = read_capped(path, _LARGEST_LOG) if path else None
    data = read.data if read else b""
    records = [record for line in data.splitlines() if (record := _record(line)) is not None]
    ready = {record["ready"] for record in records if "ready" in record}
    calls = [record for record in records if "tool" in record]
    made: dict[str, Any] = {
        "events": (*(run.events or ()), *(_event(call) for call in calls)),
        "logs": {**run.logs, LOG_NAME: b"".join(json.dumps(call).encode() + b"\n" for call in calls)} if calls else run.logs,
    }
    aborted = next((call for call in calls if call.get("verdict") == "abort"), None)
    missing = sorted({server.name for server in servers} - ready)
    if run.outcome == "ok" and missing:
        made |= {"outcome": "harness_error", "reason": f"the stand-in MCP server '{missing[0]}' was not started"}
    elif run.outcome == "ok" and aborted:
        made |= {"outcome": "agent_error", "reason": f"{aborted['server']}/{aborted['tool']}: {aborted['output']}"}
    return run.model_copy(update=made)


def _record(line: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(line)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _event(call: Mapping[str, Any]) -> Event:
    return Event(
        kind="mock_call",
        name=f"mcp__{call.get('server')}__{call.get('tool')}",
        ok=call.get("verdict") == "ok",
        arguments=call.get("input"),
        text=str(call.get("output", "")),
    )
