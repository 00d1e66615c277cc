"""What every backend keeps to, whoever wrote it; found through the registry."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import pytest

from skilltrial import registry
from skilltrial.errors import UsageError
from skilltrial.records.plan import Target
from skilltrial.records.record import Record
from skilltrial.seams import Capabilities, Machine, Probe
from skilltrial.system.redaction import Redactor

NAMES = registry.names("backends")
OFFERED = frozenset({"library"})
"""Built from a Python object of the calling program, never from what a user typed."""
VALUES = {"adapter": "./no-such-adapter", "runner": "no-such-runner", "library": "nobody"}
DELIVERIES = {"installed", "injected", "body_only"}


class Open:
    """The Limiter seam without limits."""

    def slot(self, key: str) -> AbstractContextManager[None]:
        return nullcontext()

    def refused(self, key: str, retry_after_s: float | None) -> None: ...

    def succeeded(self, key: str) -> None: ...


def target(name: str, **fields: Any) -> Target:
    return Target(name="t", backend=name, value=VALUES.get(name, "model"), **fields)


@pytest.fixture(params=NAMES)
def name(request: Any) -> str:
    return str(request.param)


@pytest.fixture
def backend(name: str) -> Any:
    return registry.get("backends", name).from_target(target(name))


def test_it_is_a_frozen_record_under_its_own_name_with_a_docstring(name: str, backend: Any) -> None:
    plugin = registry.get("backends", name)
    assert issubclass(plugin, Record)
    assert plugin.name == name
    assert plugin.__doc__ and plugin.__doc__ != Record.__doc__
    with pytest.raises(Exception, match="frozen"):
        setattr(backend, next(iter(plugin.model_fields)), "other")


def test_it_is_data_that_survives_the_disk(name: str, backend: Any) -> None:
    assert type(backend).from_stored(backend.to_json()) == backend


def test_its_capabilities_agree_with_each_other(name: str, backend: Any) -> None:
    able = backend.capabilities
    assert isinstance(able, Capabilities)
    assert able.timeout_s > 0
    assert able.concurrency >= 1
    assert able.delivery in DELIVERIES
    assert not (able.program and not able.own_environment), "agent programs run in a clean environment"
    if able.files and able.delivery == "installed":
        assert not Path(backend.skill_dir).is_absolute()
        assert ".." not in Path(backend.skill_dir).parts


def test_it_says_whom_it_calls(backend: Any) -> None:
    assert backend.endpoint_name().strip()


def test_an_option_it_does_not_have_is_refused_by_name(name: str) -> None:
    if name in OFFERED:
        pytest.skip("takes no options from the user")
    with pytest.raises(UsageError, match="no_such_option"):
        registry.get("backends", name).from_target(target(name, options={"no_such_option": 1}))


def test_its_probe_answers_in_one_line_on_an_empty_machine(backend: Any, tmp_path: Path, capfd: Any) -> None:
    machine = Machine(environ={"PATH": os.defpath}, redactor=Redactor(), limiter=Open(), temp=tmp_path)
    probe = backend.probe(machine)
    assert isinstance(probe, Probe)
    assert probe.reason.strip()
    assert "Traceback" not in probe.reason
    assert capfd.readouterr() == ("", "")
