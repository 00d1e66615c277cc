"""`skilltrial validate`: every problem of every file at once."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

MOST_NAMED = 20
"""Checks for a judge that are listed."""

if TYPE_CHECKING:
    from skilltrial.load.validate import Checked
    from skilltrial.records.problems import Problem


@click.command("validate")
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@click.option(
    "--level", type=click.Choice(["load", "standard", "strict"]), default="standard", help="How much to ask of a skill."
)
@click.option("--strict", is_flag=True, hidden=True)
@click.option("--profile", metavar="CLIENT", help="A client's own rules besides the standard's: standard, claude-code, lenient.")
@click.option("--suite", "suite_only", is_flag=True, help="Only the suites.")
@click.option("--eval-id", metavar="ID", help="Only this case.")
@click.option("--library", is_flag=True, default=None, help="Take every child folder as a skill.")
@click.option("--prose-checks", type=click.Choice(["auto", "ase", "off"]), help="Turn known sentences into checks.")
@click.option("--root", "-r", "roots", multiple=True, hidden=True, metavar="DIR")
@click.option("--format", "-f", "format_", type=click.Choice(["text", "table", "json", "sarif", "github"]), default="text")
@click.option("--quiet", "-q", is_flag=True, help="Only errors and warnings.")
def command(
    paths: tuple[str, ...],
    level: str,
    strict: bool,
    profile: str | None,
    suite_only: bool,
    eval_id: str | None,
    library: bool | None,
    prose_checks: Any,
    roots: tuple[str, ...],
    format_: str,
    quiet: bool,
) -> int:
    """Every problem of every skill and suite at once, with line and column, and what suites lack to show much.

    What they lack (no check, only checks for a judge, no natural case, no negative control, …) is told; --level strict
    makes it an error.

    Exit: 0 clean (warnings included), 1 errors found, 2 misuse.
    """
    from skilltrial.cli.given import handbook_skills
    from skilltrial.load import validate
    from skilltrial.records.config import Config

    config = Config(prose_checks=prose_checks, library=library)
    chosen: Any = "strict" if strict else level
    paths = (*paths, *roots) or handbook_skills(Path.cwd(), always=True)
    found = validate.examine(paths, Path.cwd(), chosen, profile, suite_only, eval_id, config)
    problems = [*found.problems, *found.advice]
    shown = [problem for problem in problems if not (quiet and problem.severity == "info")]
    click.echo(RENDER[format_](found, shown))
    return 1 if any(problem.severity == "error" for problem in problems) else 0


def as_text(found: Checked, shown: Sequence[Problem]) -> str:
    """One paragraph per problem, then what was looked at."""
    lines = [f"{problem.severity}: {problem}" for problem in shown]
    cases = sum(len(suite.cases) for suite in found.suites)
    problems = [*found.problems, *found.advice]
    counts = {severity: sum(problem.severity == severity for problem in problems) for severity in ("error", "warning")}
    lines.append(
        f"{_count(len(found.skills), 'skill')}, {_count(len(found.suites), 'suite')}, {_count(cases, 'case')}: "
        f"{_count(counts['error'], 'error')}, {_count(counts['warning'], 'warning')}"
    )
    if found.without_suite:
        lines.append(f"without a suite: {', '.join(found.without_suite[:10])}{', …' if len(found.without_suite) > 10 else ''}")
    if found.judged:
        lines.append(f"{_count(len(found.judged), 'check')} will need a judge:")
        lines += [f"  {suite.skill}::{case.id} {check.text}" for suite, case, check in found.judged[:MOST_NAMED]]
        lines += [f"  and {len(found.judged) - MOST_NAMED} more"] if len(found.judged) > MOST_NAMED else []
    return "\n".join(lines)


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"


def as_json(found: Checked, shown: Sequence[Problem]) -> str:
    return json.dumps([problem.model_dump() for problem in shown], ensure_ascii=False, indent=2)


def as_github(found: Checked, shown: Sequence[Problem]) -> str:
    """Workflow commands, one a problem; what comes from files is escaped."""
    return "\n".join(_github(shown))


def _github(shown: Sequence[Problem]) -> Iterator[str]:
    for problem in shown:
        kind = {"error": "error", "warning": "warning", "info": "notice"}[problem.severity]
        where = [f"file={_escaped(problem.where.file, True)}"]
        where += [f"line={problem.where.line}"] if problem.where.line else []
        where += [f"col={problem.where.column}"] if problem.where.column else []
        text = problem.found + (f"\nhint: {problem.hint}" if problem.hint else "")
        yield f"::{kind} {','.join(where)},title={_escaped(problem.rule, True)}::{_escaped(text, False)}"


def _escaped(text: str, in_property: bool) -> str:
    text = text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    return text.replace(":", "%3A").replace(",", "%2C") if in_property else text


def as_sarif(found: Checked, shown: Sequence[Problem]) -> str:
    """SARIF 2.1.0, for code scanning."""
    from skilltrial.version import VERSION

    rules = sorted({problem.rule for problem in shown})
    run = {
        "tool": {"driver": {"name": "skilltrial", "version": VERSION, "rules": [{"id": rule} for rule in rules]}},
        "results": [_sarif_result(problem) for problem in shown],
    }
    document = {"version": "2.1.0", "$schema": "https://json.schemastore.org/sarif-2.1.0.json", "runs": [run]}
    return json.dumps(document, ensure_ascii=False, indent=2)


def _sarif_result(problem: Problem) -> dict[str, Any]:
    spot: dict[str, Any] = {"artifactLocation": {"uri": problem.where.file}}
    if problem.where.line:
        spot["region"] = {
            "startLine": problem.where.line,
            **({"startColumn": problem.where.column} if problem.where.column else {}),
        }
    return {
        "ruleId": problem.rule,
        "level": {"error": "error", "warning": "warning", "info": "note"}[problem.severity],
        "message": {"text": problem.found + (f" Hint: {problem.hint}" if problem.hint else "")},
        "locations": [{"physicalLocation": spot}],
    }


RENDER = {"text": as_text, "table": as_text, "json": as_json, "github": as_github, "sarif": as_sarif}
