"""Pull and merge requests at GitHub and GitLab, asked for through the user's own `gh` or `glab`."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from skilltrial.collect.repository import Failed
from skilltrial.flows.hooks import users_place
from skilltrial.records.evidence import ReviewRequest
from skilltrial.records.suite import Limits
from skilltrial.seams import Command, Machine, Stop
from skilltrial.system.addresses import parts_of

_LIMITS = Limits(timeout_s=60.0, output_bytes=8 * 1024 * 1024)
MOST = 200


class Provider(NamedTuple):
    """Where a repository is hosted."""

    name: str
    """github or gitlab."""
    host: str
    slug: str
    """Owner and name, as `acme/widgets`."""

    @property
    def program(self) -> str:
        return "gh" if self.name == "github" else "glab"

    @property
    def question(self) -> tuple[str, ...]:
        """The command that lists all requests as JSON."""
        where = self.slug if self.host in ("github.com", "gitlab.com") else f"{self.host}/{self.slug}"
        if self.name == "github":
            fields = "number,headRefName,baseRefName,url,state"
            return ("gh", "pr", "list", "--repo", where, "--state", "all", "--limit", str(MOST), "--json", fields)
        return ("glab", "mr", "list", "--repo", where, "--all", "--per-page", str(min(MOST, 100)), "--output", "json")


def provider_of(address: str | None) -> Provider | None:
    """By the address of a repository: https, ssh or git's short form; None for a path and for other hosts."""
    if not address or address.startswith(("/", ".")):
        return None
    if "://" in address:
        parts = parts_of(address)
        host, path = parts.hostname or "", parts.path
    else:
        place, colon, path = address.partition(":")
        host = place.rpartition("@")[2] if colon else ""
    slug = path.strip("/").removesuffix(".git")
    name = next((name for name in ("github", "gitlab") if name in host), None)
    return Provider(name, host, slug) if name and "/" in slug else None


def why_not(address: str | None, *, live: bool, environ: Mapping[str, str]) -> str | None:
    """Why requests cannot be seen for a case; None: they can."""
    provider = provider_of(address)
    if provider is None:
        return "pull and merge requests are seen only with a --source-repo at GitHub or GitLab"
    if not live:
        return f"only cases of side_effect_level live-safe or live-external reach {provider.host}; others push to a private copy"
    if not shutil.which(provider.program, path=environ.get("PATH")):
        return f"{provider.program} is not installed here"
    return None


def listed(provider: Provider, machine: Machine) -> dict[int, ReviewRequest]:
    """All requests by number.

    Raises:
        Failed: the provider gave no answer; that is no verdict about the run.
    """
    printed = bytearray()

    def keep(line: bytes) -> Stop | None:
        printed.extend(line)
        return None

    with users_place(machine) as place:
        try:
            ended = place.start(Command(provider.question, {"NO_COLOR": "1", "GH_PROMPT_DISABLED": "1"}), _LIMITS, keep)
        except OSError as error:
            raise Failed(f"{provider.program} could not be started: {error.strerror or error}") from None
    if ended.code != 0:
        said = (
            ended.stop.reason if ended.stop else machine.redactor.text(ended.stderr.decode("utf-8", "replace"))[0].strip()[-200:]
        )
        raise Failed(f"{provider.program} ended with status {ended.code}: {said}")
    try:
        return {request.number: request for request in _requests(provider, json.loads(bytes(printed)))}
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise Failed(f"{provider.program} gave no list of requests: {error}") from None


def _requests(provider: Provider, rows: Any) -> Iterable[ReviewRequest]:
    for row in rows:
        if provider.name == "github":
            yield ReviewRequest(
                number=row["number"],
                branch=row["headRefName"],
                base=row.get("baseRefName"),
                url=row.get("url"),
                open=row["state"] == "OPEN",
            )
        else:
            yield ReviewRequest(
                number=row["iid"],
                branch=row["source_branch"],
                base=row.get("target_branch"),
                url=row.get("web_url"),
                open=row["state"] == "opened",
            )
