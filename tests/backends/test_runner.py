"""Shell scripts as targets: skill-ab-eval's `runners/NAME.sh`, with a failure that stays a failure."""

from __future__ import annotations

from typing import Any

import pytest

from skilltrial.backends.runner import Runner
from skilltrial.errors import UsageError
from skilltrial.records.plan import Target


def runner(bench: Any, bash: str, **options: Any) -> Runner:
    return Runner(script=str(bench.script("mine.sh", bash)), **options)


def test_the_prompt_is_in_a_variable_and_on_standard_input(bench: Any) -> None:
    run = bench.run(runner(bench, 'printf "%s|" "$PROMPT"; cat; echo "|$MARK"'))
    assert (run.outcome, run.text) == ("ok", "Perform the task.|Perform the task.|from the caller")
    assert run.events is None


def test_the_skills_body_stands_before_the_task(bench: Any) -> None:
    run = bench.run(runner(bench, "cat"), with_skill=True)
    assert run.text.index("sample-skill") < run.text.index("Say the required phrase.") < run.text.index("Perform the task.")
    assert run.activation == "forced"
    assert run.sent == {"prompt": run.text}


def test_a_baseline_gets_the_bare_prompt(bench: Any) -> None:
    run = bench.run(runner(bench, "cat"))
    assert (run.text, run.activation) == ("Perform the task.", "none_expected")


def test_a_fixture_stands_where_it_is_named_else_beside_the_task(bench: Any) -> None:
    files = {"evals/files/a.txt": b"alpha", "evals/files/b.txt": b"beta"}
    text = bench.run(runner(bench, "cat"), prompt="Sum up {{a.txt}} {{other}}", files=files).text
    assert "Sum up alpha {{other}}" in text
    assert "b.txt" in text
    assert "beta" in text


def test_both_arms_get_the_same_fixtures(bench: Any) -> None:
    files = {"a.txt": b"alpha"}
    plain = bench.run(runner(bench, "cat"), files=files).text
    skilled = bench.run(runner(bench, "cat"), files=files, with_skill=True).text
    assert skilled.endswith(plain)


def test_a_status_other_than_zero_is_no_measurement_even_with_an_answer(bench: Any) -> None:
    run = bench.run(runner(bench, "echo the answer; echo broken >&2; exit 4"))
    assert (run.outcome, run.text) == ("agent_error", "")
    for part in ("status 4", "broken", "the answer"):
        assert part in run.reason


def test_a_crash_before_any_answer_is_an_outage(bench: Any) -> None:
    run = bench.run(runner(bench, "echo no login >&2; exit 1"))
    assert run.outcome == "infrastructure_error"
    assert "no login" in run.reason


def test_status_zero_with_nothing_printed_is_no_empty_answer(bench: Any) -> None:
    run = bench.run(runner(bench, "echo ProviderModelNotFoundError: no such model >&2"))
    assert run.outcome == "infrastructure_error"
    assert "no such model" in run.reason


def test_a_program_the_script_needs_and_does_not_find_is_a_failure_of_set_up(bench: Any) -> None:
    run = bench.run(runner(bench, "no-such-program-at-all"))
    assert (run.outcome, run.setup) == ("infrastructure_error", True)


def test_a_run_out_of_time_says_that_nothing_was_printed(bench: Any, stopped: Any) -> None:
    run = bench.run(runner(bench, "sleep 600"), watch=stopped("timeout"))
    assert run.outcome == "timeout"
    assert "printed nothing" in run.reason


def test_a_prompt_too_long_for_a_variable_arrives_on_standard_input(bench: Any) -> None:
    run = bench.run(runner(bench, 'wc -c; echo "[$PROMPT]"'), prompt="x" * 200_000)
    assert run.outcome == "ok"
    assert "200000" in run.text
    assert "[]" in run.text
    assert any("does not fit" in warning for warning in run.warnings)


def test_a_name_is_looked_up_in_the_runners_folder(bench: Any, monkeypatch: Any) -> None:
    monkeypatch.chdir(bench.base)
    file = bench.script("runners/mine.sh", "cat")
    backend = Runner.from_target(Target(name="r", backend="runner", value="mine"))
    assert backend.file() == file
    assert backend.probe(bench.machine).ok


def test_a_missing_runner_is_named_with_the_places_looked_at(bench: Any, monkeypatch: Any) -> None:
    monkeypatch.chdir(bench.base)
    probe = Runner(script="absent").probe(bench.machine)
    assert not probe.ok
    assert "runners/absent.sh" in probe.reason


def test_a_target_without_a_script_is_refused() -> None:
    with pytest.raises(UsageError, match="name the script"):
        Runner.from_target(Target(name="r", backend="runner"))
