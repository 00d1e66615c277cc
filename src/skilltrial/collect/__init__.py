"""What a run left behind, made into Evidence: masked first, then stored."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from itertools import groupby
from typing import Any, NamedTuple

from skilltrial.collect.deltas import delta
from skilltrial.collect.views import LiveView, StoredView
from skilltrial.records.evidence import AgentRun, Delta, Event, Evidence, GitDelta, Source
from skilltrial.records.suite import FileRef
from skilltrial.seams import Blobs
from skilltrial.system.files import UNREAD, digest
from skilltrial.system.redaction import Redactor

__all__ = ["LiveView", "StoredView", "delta", "evidence"]

_STATES = {"before": "pre_state", "after": "post_state"}
_PEEK = 8192
"""Bytes looked at to tell text from other files."""


def evidence(
    *,
    cell: str,
    inputs: str,
    attempt: int,
    run: AgentRun,
    delta: Delta | None,
    read: Callable[[str], bytes | None] | None,
    sandbox: str,
    walls: Mapping[str, str] | None = None,
    redactor: Redactor,
    blobs: Blobs,
    source: Source,
    states: Mapping[str, object] | None = None,
) -> Evidence:
    """The run as it may be stored; its logs, what was sent and the files of its delta are in `blobs` afterwards.

    Args:
        delta, read: from `delta()`; None for a target without a workspace.
        states: the whole repository at both ends (`before`, `after`), where it was looked at.
    """
    sent = _json(run.sent) if run.sent is not None else None
    everything = _everything(run, sent)
    keeper = _Keeper(redactor, blobs, clean=all(map(_is_text, everything)) and redactor.clean(everything))
    text = keeper.text(run.text)
    masked_text = keeper.count > 0
    files = keeper.delta(delta, read) if delta is not None and read is not None else _Files(delta, ())
    if files.delta is not None and files.delta.git is not None:
        files = files._replace(delta=keeper.repository(files.delta, states or {}))
    said = keeper.said(run)
    return Evidence(
        cell=cell,
        inputs=inputs,
        attempt=attempt,
        outcome=run.outcome,
        reason=said.reason,
        text=text,
        events=said.events,
        activation=run.activation,
        inventory=run.inventory,
        usage=run.usage,
        timing=run.timing,
        delta=files.delta,
        logs=tuple([keeper.log(name, data) for name, data in run.logs.items()]),
        sent=keeper.sent(run.sent, sent) if run.sent is not None and sent is not None else None,
        warnings=said.warnings,
        sandbox=sandbox,
        walls=dict(walls or {}),
        model=run.model,
        program_version=run.program_version,
        redactions=keeper.count,
        masked_text=masked_text,
        masked_paths=files.masked,
        source=source,
    )


class _Said(NamedTuple):
    reason: str | None
    events: tuple[Event, ...] | None
    warnings: tuple[str, ...]


class _Files(NamedTuple):
    delta: Delta | None
    masked: tuple[str, ...]


class _Keeper:
    """Masks and stores; counts what it masked. `clean`: one look over all but the files found nothing to mask."""

    def __init__(self, redactor: Redactor, blobs: Blobs, *, clean: bool) -> None:
        self.count = 0
        self._clean = clean
        self._redactor = redactor
        self._blobs = blobs

    def text(self, text: str) -> str:
        if self._clean or not text:
            return text
        masked, count = self._redactor.text(text)
        self.count += count
        return _spelled_out(masked)

    def said(self, run: AgentRun) -> _Said:
        """Reason, events and warnings."""
        if self._clean:
            return _Said(run.reason, run.events, run.warnings)
        reason = self.text(run.reason) if run.reason else run.reason
        events = tuple(self._events(run.events)) if run.events is not None else None
        return _Said(reason, events, tuple([self.text(warning) for warning in run.warnings]))

    def log(self, name: str, data: bytes) -> FileRef:
        masked, count = (data, 0) if self._clean and b"\0" not in data else self._redactor.data(data)
        self.count += count
        return self._put(name, masked)

    def sent(self, sent: dict[str, Any], written: str) -> FileRef:
        if not self._clean:
            masked, count = self._redactor.value(sent)
            written, more = self._redactor.text(_json(masked))
            self.count += count + more
        return self._put("sent.json", written.encode("utf-8", "backslashreplace"))

    def delta(self, delta: Delta, read: Callable[[str], bytes | None]) -> _Files:
        """The delta with its files stored; those that held a secret are masked and listed so."""
        created, masked_new = self._files(delta.created, read)
        changed, masked_old = self._files(delta.changed, read)
        return _Files(delta.model_copy(update={"created": created, "changed": changed}), (*masked_new, *masked_old))

    def repository(self, delta: Delta, states: Mapping[str, object]) -> Delta:
        """The delta with branch names, subjects and paths masked, and the whole states as blobs."""
        assert delta.git is not None
        masked, count = self._redactor.value(delta.git.model_dump(mode="json", exclude={"before", "after"}))
        self.count += count
        kept = {name: self._put(f"{_STATES[name]}.json", self._masked_json(state)) for name, state in states.items()}
        git = GitDelta.model_validate(masked) if count else delta.git
        return delta.model_copy(update={"git": git.model_copy(update=kept)})

    def _masked_json(self, value: object) -> bytes:
        masked, _ = self._redactor.value(value)
        return (json.dumps(_storable(masked), ensure_ascii=False, indent=2) + "\n").encode()

    def _files(self, refs: Iterable[FileRef], read: Callable[[str], bytes | None]) -> tuple[tuple[FileRef, ...], tuple[str, ...]]:
        kept, masked = [], []
        for ref in refs:
            data = read(ref.path) if ref.digest != UNREAD else None
            if data is None:
                kept.append(ref)
                continue
            mask = self._redactor.exact if b"\0" in data[:_PEEK] else self._redactor.data
            clean, count = mask(data)
            if count:
                self.count += count
                masked.append(ref.path)
            kept.append(self._put(ref.path, clean, executable=ref.executable))
        return tuple(kept), tuple(masked)

    def _events(self, events: tuple[Event, ...]) -> Iterable[Event]:
        for is_text, group in groupby(events, key=lambda event: event.kind == "text"):
            if not is_text:
                yield from map(self._event, group)
                continue
            pieces = list(group)  # one text in pieces, as it was streamed
            masked, count = self._redactor.texts([event.text or "" for event in pieces])
            self.count += count
            for event, text in zip(pieces, masked, strict=True):
                yield (
                    event
                    if text == (event.text or "") and _is_text(text)
                    else event.model_copy(update={"text": _spelled_out(text)})
                )

    def _event(self, event: Event) -> Event:
        arguments, count = self._redactor.value(event.arguments)
        text = self.text(event.text) if event.text else event.text
        self.count += count
        name = _spelled_out(event.name) if event.name else event.name
        return event.model_copy(update={"name": name, "arguments": _storable(arguments), "text": text})

    def _put(self, path: str, data: bytes, *, executable: bool = False) -> FileRef:
        key = digest(data)
        self._blobs.put_new(key, data)
        return FileRef(path=path, size=len(data), digest=key, executable=executable)


def _everything(run: AgentRun, sent: str | None) -> list[str]:
    """All texts of a run, and what was streamed in pieces also as one."""
    events = run.events or ()
    pieces = [run.text, run.reason or "", *run.warnings, sent or "", *[event.name for event in events if event.name]]
    pieces += [data.decode("utf-8", "surrogateescape") for data in run.logs.values()]
    pieces += [event.text for event in events if event.text]
    pieces += [
        event.arguments if isinstance(event.arguments, str) else _json(event.arguments) for event in events if event.arguments
    ]
    pieces.append("".join([event.text or "" for event in events if event.kind == "text"]))
    return pieces


def _is_text(text: str) -> bool:
    """False for halves of surrogate pairs: models do write them, and UTF-8 has no form for them."""
    try:
        text.isascii() or text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _spelled_out(text: str) -> str:
    """The text with such halves as `\\ud800`."""
    return text if _is_text(text) else text.encode("utf-8", "backslashreplace").decode("utf-8")


def _storable(value: Any) -> Any:
    if isinstance(value, str):
        return _spelled_out(value)
    if isinstance(value, dict):
        return {_storable(key): _storable(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_storable(item) for item in value]
    return value


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(", ", ": "))
