"""A stand-in MCP server on standard input and output: `python _mcp_server.py SPEC LOG`.

It is copied into the home of a run and started there by the agent program, so it needs nothing but the standard library.
SPEC is a MockServer as JSON. Each call is appended to LOG as one line of JSON before it is answered.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

PROTOCOL = "2025-06-18"
PLACEHOLDER = re.compile(r"\{\{\s*(input\.[A-Za-z0-9_.-]+|file:(?:[^{}]|\{input\.[A-Za-z0-9_.-]+\})+?)\s*\}\}")
ARGUMENT = re.compile(r"\{input\.([A-Za-z0-9_.-]+)\}")
PLAIN_NAME = re.compile(r"(?!\.{1,2}$)[A-Za-z0-9._-]+")
TYPES: dict[str, Any] = {"string": str, "number": (int, float), "bool": bool, "boolean": bool, "array": list, "object": dict}
LONGEST = 16384
"""Characters of an answer that the log keeps."""


class Refused(Exception):
    """The answer cannot be made for these arguments."""


def main(spec_path: str, log_path: str) -> None:
    spec = json.loads(Path(spec_path).read_text(encoding="utf-8"))
    log(log_path, {"ready": spec["name"]})
    for line in sys.stdin.buffer:
        try:
            message = json.loads(line)
        except ValueError:
            message = None
        reply = handled(message, spec, log_path) if isinstance(message, dict) else None
        if reply is not None:
            sys.stdout.write(json.dumps(reply) + "\n")
            sys.stdout.flush()


def handled(message: dict[str, Any], spec: dict[str, Any], log_path: str) -> dict[str, Any] | None:
    """The reply to one message; None: it wants none."""
    if "id" not in message or "method" not in message:
        return None
    method, params = message["method"], message.get("params") or {}
    answers = {"initialize": hello, "ping": lambda *_: {}, "tools/list": listed, "tools/call": called}
    if method not in answers:
        error = {"code": -32601, "message": f"this stand-in has no {method}"}
        return {"jsonrpc": "2.0", "id": message["id"], "error": error}
    return {"jsonrpc": "2.0", "id": message["id"], "result": answers[method](params, spec, log_path)}


def hello(params: dict[str, Any], spec: dict[str, Any], _log: str) -> dict[str, Any]:
    wanted = params.get("protocolVersion")
    version = wanted if isinstance(wanted, str) else PROTOCOL
    info = {"name": spec["name"], "version": "1"}
    return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}


def listed(_params: dict[str, Any], spec: dict[str, Any], _log: str) -> dict[str, Any]:
    tools = []
    for tool in spec["tools"]:
        schema = {"type": "object", **tool["input_schema"]}
        tools.append({"name": tool["name"], "description": tool["description"], "inputSchema": schema})
    return {"tools": tools}


def called(params: dict[str, Any], spec: dict[str, Any], log_path: str) -> dict[str, Any]:
    name, given = params.get("name"), params.get("arguments") or {}
    verdict, text = answer(spec, name, given)
    kept = text if len(text) <= LONGEST else text[:LONGEST] + "...[cut]"
    log(log_path, {"server": spec["name"], "tool": name, "input": given, "output": kept, "verdict": verdict})
    return {"content": [{"type": "text", "text": text}], "isError": verdict != "ok"}


def answer(spec: dict[str, Any], name: Any, given: dict[str, Any]) -> tuple[str, str]:
    """What a call comes to: `ok`, `tool_error`, or `abort` for arguments that the suite does not allow; and its text."""
    tool = next((tool for tool in spec["tools"] if tool["name"] == name), None)
    if tool is None:
        return "tool_error", f"no stand-in for {spec['name']}/{name}"
    fault = unexpected(given, tool["expect"])
    if fault:
        return "abort", "the call is not the expected one: " + fault
    try:
        text = filled(tool["answer"], given, spec["files"])
    except Refused as why:
        return "tool_error", str(why)
    return ("tool_error" if tool["error"] else "ok"), text


def unexpected(given: dict[str, Any], expect: dict[str, Any], above: str = "") -> str | None:
    """What is wrong with the arguments; None: nothing."""
    for key, wanted in expect.items():
        path = above + "." + key if above else key
        inner = isinstance(wanted, dict)
        fault = unexpected(given, wanted, path) if inner else mismatch(at(given, path), wanted, path)
        if fault:
            return fault
    return None


def mismatch(value: Any, wanted: Any, path: str) -> str | None:
    shown = "(missing)" if value is None else json.dumps(value)
    if isinstance(wanted, list):
        fits = any(same(value, one) for one in wanted)
        return None if fits else f"{path} = {shown} is not one of {json.dumps(wanted)}"
    pattern = re.fullmatch(r"/(.+)/([is]*)", wanted, re.DOTALL) if isinstance(wanted, str) else None
    if pattern:
        flags = (re.IGNORECASE if "i" in pattern[2] else 0) | (re.DOTALL if "s" in pattern[2] else 0)
        text = plain(value)
        found = text is not None and re.search(pattern[1], text, flags)
        return None if found else f"{path} = {shown} does not match {wanted}"
    if isinstance(wanted, str) and wanted in TYPES:
        right = isinstance(value, TYPES[wanted]) and not (wanted == "number" and isinstance(value, bool))
        return None if right else f"{path} = {shown} is no {wanted}"
    return None if same(value, wanted) else f"{path} = {shown} is not {json.dumps(wanted)}"


def plain(value: Any) -> str | None:
    """A text, number or truth value as text; None for anything else."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else str(value) if isinstance(value, int | float) else None


def same(value: Any, wanted: Any) -> bool:
    return plain(value) is not None and plain(value) == plain(wanted)


def at(given: Any, path: str) -> Any:
    """The argument at a dotted path; None: there is none."""
    for key in path.split("."):
        if isinstance(given, list) and key.isdigit() and int(key) < len(given):
            given = given[int(key)]
        elif isinstance(given, dict):
            given = given.get(key)
        else:
            return None
    return given


def filled(text: str, given: dict[str, Any], files: dict[str, str]) -> str:
    """The answer with its placeholders replaced."""

    def put(match: re.Match[str]) -> str:
        word = match[1]
        if word.startswith("input."):
            value = at(given, word[6:])
            return "" if value is None else value if isinstance(value, str) else json.dumps(value)
        name = ARGUMENT.sub(lambda one: segment(at(given, one[1]), one[1]), word[5:].strip())
        if name not in files:
            raise Refused(f"there is no file '{name}' beside the stand-in")
        return files[name]

    return PLACEHOLDER.sub(put, text)


def segment(value: Any, path: str) -> str:
    text = plain(value) or ""
    if not PLAIN_NAME.fullmatch(text):
        raise Refused(f"the argument {path} = {json.dumps(value)} is no plain name of a file")
    return text


def log(path: str, record: dict[str, Any]) -> None:
    with Path(path).open("a", encoding="utf-8") as file:
        file.write(json.dumps(record) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:3])
