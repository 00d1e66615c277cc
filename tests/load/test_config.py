"""Settings: where they are found, how they are read, and which layer wins."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skilltrial.errors import BadInput, UsageError
from skilltrial.load.config import find, from_environment, look, merge, read, read_with_warnings
from skilltrial.records.config import Config, GateConfig, TargetConfig
from skilltrial.records.plan import Budgets


def written(folder: Path, text: str, name: str = "skilltrial.yaml") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def problems(path: Path) -> list[str]:
    with pytest.raises(BadInput) as caught:
        read(path)
    return [str(problem).removeprefix(str(path)) for problem in caught.value.problems]


# ---------------------------------------------------------------- finding
def test_the_nearest_file_up_to_the_repository_root_is_found(tmp_path: Path) -> None:
    (tmp_path / "repo" / ".git").mkdir(parents=True)
    deep = tmp_path / "repo" / "skills" / "notes"
    deep.mkdir(parents=True)
    outside = written(tmp_path, "repetitions: 9\n")
    assert find(deep) is None
    above = written(tmp_path / "repo", "repetitions: 2\n")
    assert find(deep) == above
    near = written(deep, "[tool.skilltrial]\nrepetitions = 3\n", "pyproject.toml")
    assert find(deep) == near
    assert find(tmp_path) == outside


def test_outside_a_repository_only_the_folder_itself_counts(tmp_path: Path) -> None:
    written(tmp_path, "repetitions: 2\n")
    (tmp_path / "inner").mkdir()
    assert find(tmp_path / "inner") is None


def test_skilltrial_yaml_wins_over_pyproject_and_says_so(tmp_path: Path) -> None:
    ours = written(tmp_path, "repetitions: 2\n")
    written(tmp_path, "[tool.skilltrial]\nrepetitions = 3\n", "pyproject.toml")
    found = look(tmp_path)
    assert found.path == ours
    assert "[tool.skilltrial] in pyproject.toml" in found.notes[0]


def test_the_settings_of_agent_skills_eval_are_never_found_and_a_note_says_how_to_name_them(tmp_path: Path) -> None:
    written(tmp_path, "target: m\n", "agent-skills-eval.yaml")
    alone = look(tmp_path)
    assert alone.path is None and "--config agent-skills-eval.yaml" in alone.notes[0]
    written(tmp_path, "repetitions: 2\n")
    both = look(tmp_path)
    assert both.path == tmp_path / "skilltrial.yaml"
    assert "agent-skills-eval.yaml beside it is not" in both.notes[0]
    (tmp_path / ".git").mkdir()
    written(tmp_path / "below", "target: m\n", "agent-skills-eval.yaml")
    assert look(tmp_path / "below").path == tmp_path / "skilltrial.yaml"


def test_a_pyproject_without_our_table_is_not_ours(tmp_path: Path) -> None:
    written(tmp_path, '[project]\nname = "x"\n# tool.skilltrial\n', "pyproject.toml")
    assert find(tmp_path) is None


# ---------------------------------------------------------------- reading ours
def test_every_form_of_a_target_is_understood(tmp_path: Path) -> None:
    (tmp_path / "agent.py").touch()
    path = written(
        tmp_path,
        """
targets:
  - claude:haiku
  - backend: openai
    model: meta/llama:free
    name: llama
    params: {temperature: 0.5}
  - adapter:agent.py
  - local:./models/tiny.gguf
judge: none
""",
    )
    config = read(path)
    assert [(t.backend, t.model) for t in config.targets] == [
        ("claude-code", "haiku"),
        ("openai", "meta/llama:free"),
        ("adapter", str(tmp_path / "agent.py")),
        ("local", str(tmp_path / "models" / "tiny.gguf")),
    ]
    assert config.targets[1].params == {"temperature": 0.5}
    assert config.judge == "none"


def test_paths_are_relative_to_the_file_they_stand_in(tmp_path: Path) -> None:
    path = written(
        tmp_path / "conf",
        "skills: ../skills\nsuites: [{skill: a, evals: /abs/evals.json}]\nworkspace: out\nreport: {output: [r.md]}\n",
    )
    config = read(path)
    assert config.paths == (str(tmp_path / "skills"),)
    assert (config.suites[0].skill, config.suites[0].evals) == (str(tmp_path / "conf" / "a"), "/abs/evals.json")
    assert config.workspace == str(tmp_path / "conf" / "out")
    assert config.report.output == (str(tmp_path / "conf" / "r.md"),)


def test_short_forms_mean_what_they_say(tmp_path: Path) -> None:
    config = read(
        written(tmp_path, "gate: every\ngates: {notes: none, other: {on: point}}\narms: {baseline: false}\nprose_checks: off\n")
    )
    assert config.gate == GateConfig(cases="every")
    assert config.gates == {"notes": GateConfig(cases="none"), "other": GateConfig(on="point")}
    assert config.baseline is False
    assert config.prose_checks == "off"


def test_the_same_keys_work_in_pyproject(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        '[tool.skilltrial]\ntargets = ["fake"]\nrepetitions = 3\n[tool.skilltrial.gate]\ncases = "every"\n',
        "pyproject.toml",
    )
    config = read(path)
    assert (config.targets[0].backend, config.repetitions, config.gate.cases) == ("fake", 3, "every")


def test_an_empty_file_says_nothing(tmp_path: Path) -> None:
    assert read(written(tmp_path, "# nothing yet\n")) == Config()


def test_every_problem_is_reported_at_once_with_its_place(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        """repititions: 3
concurrency: many
baseline: true
targets:
  - backend: opnai
  - backend: openai
    modle: x
  - "openai:"
  - 7
gate: {on: sometimes, minimum_lift: [1]}
retries: -1
""",
    )
    found = problems(path)
    assert len(found) == 10
    assert found[0].startswith(":1:") and "unknown key 'repititions'\nhint: did you mean 'repetitions'?" in found[0]
    assert found[1].startswith(":2:") and "found 'many'; expected a whole number" in found[1]
    assert any(
        text.startswith(":7:") and "targets[1].modle: unknown key 'modle'\nhint: did you mean 'model'?" in text for text in found
    )
    assert any("gate.on: found 'sometimes'; expected 'interval' or 'point'" in text for text in found)
    assert any("retries: found -1; expected 0 or more" in text for text in found)


def test_what_types_cannot_tell_is_reported_too(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        'targets:\n  - backend: opnai\n  - "openai:"\npricing: {m: {promt: 1}}\nbudgets: {per_case: {tokens: 3}}\n',
    )
    found = problems(path)
    assert "no backend called 'opnai'\nhint: did you mean 'openai'?" in found[0]
    assert "nothing stands after the colon" in found[1]
    assert found[2].startswith(":4:") and "did you mean 'prompt'?" in found[2]
    assert "unknown key 'tokens'" in found[3]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("seed: 1\nseed: 2\n", "'seed' is given twice"),
        ("options: &a {x: 1}\njudge_params: *a\n", "alias"),
        ("- a\n- b\n", "not a mapping"),
        ("seed: [1\n", "not valid YAML"),
        ("seed: !!python/object:os.system 1\n", "tag"),
        ("repetitions: '3'\n", "found '3'; expected a whole number"),
        ("arms: {baseline: 1}\n", "expected true or false"),
        ("margin: .nan\n", "nan"),
        ("shard: 0/4\n", "expected text of the form"),
    ],
)
def test_what_is_not_plain_settings_is_refused(tmp_path: Path, text: str, said: str) -> None:
    assert said in "\n".join(problems(written(tmp_path, text)))


def test_a_problem_in_pyproject_has_a_line(tmp_path: Path) -> None:
    path = written(tmp_path, '[project]\nname = "x"\n\n[tool.skilltrial]\nseed = "a"\n', "pyproject.toml")
    assert problems(path)[0].startswith(":5:1: seed: found 'a'")


def test_a_file_that_is_absent_is_one_message(tmp_path: Path) -> None:
    assert "no such file" in problems(tmp_path / "none.yaml")[0]


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=6),
        lambda s: (
            st.lists(s, max_size=3)
            | st.dictionaries(st.sampled_from([*Config.model_fields, "skills", "arms", "x"]), s, max_size=4)
        ),
        max_leaves=12,
    )
)
def test_any_content_is_settings_or_problems(tmp_path_factory: pytest.TempPathFactory, content: object) -> None:
    path = written(tmp_path_factory.mktemp("any"), json.dumps(content))
    try:
        read(path)
    except UsageError as error:
        assert str(error)


# ---------------------------------------------------------------- reading agent-skills-eval's
def test_agent_skills_eval_settings_keep_that_tools_defaults(tmp_path: Path) -> None:
    path = written(
        tmp_path / "conf", "root: ./skills\ntarget: deepseek/x:free\nbaseUrl: http://localhost:1/v1\n", "agent-skills-eval.yaml"
    )
    config = read(path, tmp_path)
    assert config.paths == (str(tmp_path / "skills"),)
    assert (config.baseline, config.concurrency, config.strict) == (False, 4, False)
    assert config.targets == (TargetConfig(backend="openai", model="deepseek/x:free"),)
    assert config.judge == config.targets[0] and config.options == {"base_url": "http://localhost:1/v1"}
    assert config.workspace == str(tmp_path / "agent-skills-workspace") and config.report.layout == "iteration"


def test_all_keys_of_agent_skills_eval_arrive(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        json.dumps(
            {
                "root": ".", "workspace": "w", "baseline": True, "target": "a", "judge": "b", "apiKeyEnv": "K",
                "include": ["x/**"], "exclude": ["y"], "evalIds": [1, "two"], "concurrency": 2, "strict": True,
                "layout": "flat", "report": {"enabled": True, "title": "T", "output": "out"},
                "logging": {"format": "jsonl", "color": "auto", "snippetLength": 10, "file": "log", "verbose": True},
                "targetParams": {"temperature": 0}, "judgeParams": {"temperature": 1},
            }
        ),
        "mine.json",
    )  # fmt: skip
    config = read(path, tmp_path)
    assert config.baseline is True and config.concurrency == 2 and config.strict is True
    assert config.workspace == str(tmp_path / "w") and config.eval_ids == ("1", "two")
    assert config.include == ("x/**",) and config.exclude == ("y",)
    assert config.options == {"params": {"temperature": 0}, "api_key_env": "K"} and config.judge_params == {"temperature": 1}
    assert isinstance(config.judge, TargetConfig) and (config.targets[0].model, config.judge.model) == ("a", "b")
    assert config.report.output == (str(tmp_path / "out" / "index.html"),) and config.report.layout == "flat"
    assert config.logging.format == "jsonl" and config.logging.snippet_length == 10


def test_null_is_absent_and_unknown_keys_are_warned_about(tmp_path: Path) -> None:
    layer = read_with_warnings(written(tmp_path, "target: a\njudge: null\nbasline: true\n", "agent-skills-eval.yaml"), tmp_path)
    assert isinstance(layer.config.judge, TargetConfig) and layer.config.judge.model == "a"
    assert [problem.severity for problem in layer.warnings] == ["warning"]
    assert "did you mean 'baseline'?" in str(layer.warnings[0])


def test_wrong_types_in_agent_skills_eval_settings_are_errors(tmp_path: Path) -> None:
    path = written(tmp_path, "target: 5\nconcurrency: 2x\nreport: {title: 1}\nlayout: tree\n", "agent-skills-eval.yaml")
    assert len(problems(path)) == 4


def test_its_agent_runtimes_become_backends(tmp_path: Path) -> None:
    settings = {
        "runtime": "codex", "judgeRuntime": "none", "baseUrl": "http://localhost:1/v1", "structuredOutput": True,
        "runtimeOptions": {"timeoutMs": 1500, "executable": "/opt/codex", "executableArgs": ["--x"], "maxOutputBytes": 9,
                           "allowedTools": ["shell"], "allowWrites": True},
    }  # fmt: skip
    layer = read_with_warnings(written(tmp_path, json.dumps(settings), "agent-skills-eval.yaml"), tmp_path)
    wanted = TargetConfig(
        backend="codex", timeout_s=1.5, args=("--x",), allowed_tools=("shell",),
        options={"path": "/opt/codex", "max_output_bytes": 9},
    )  # fmt: skip
    assert layer.config.targets == (wanted,)
    assert layer.config.judge == "none" and layer.config.options == {}
    assert [str(warning).partition("'")[2].partition("'")[0] for warning in layer.warnings] == ["structuredOutput", "allowWrites"]


def test_a_judge_behind_an_agent_keeps_the_endpoint(tmp_path: Path) -> None:
    text = "runtime: claude\njudgeRuntime: provider\njudge: j\nbaseUrl: http://localhost:1/v1\napiKeyEnv: K\n"
    config = read(written(tmp_path, text, "agent-skills-eval.yaml"), tmp_path)
    assert config.targets == (TargetConfig(backend="claude-code"),) and config.options == {}
    assert (config.judge_base_url, config.judge_api_key_env) == ("http://localhost:1/v1", "K")


def test_without_a_page_there_is_none_to_put_elsewhere(tmp_path: Path) -> None:
    off = read(written(tmp_path, "target: a\nreport: {enabled: false, output: out}\n", "agent-skills-eval.yaml"), tmp_path)
    assert (off.report.html, off.report.output) == (False, ())
    assert read(written(tmp_path, "target: a\nreport: false\n", "agent-skills-eval.yaml"), tmp_path).report.html is False


# ---------------------------------------------------------------- the environment
def test_scalar_settings_come_from_variables() -> None:
    config, _ = from_environment(
        {
            "SKILLTRIAL_REPETITIONS": "3", "SKILLTRIAL_TIMEOUT_S": "1.5", "SKILLTRIAL_BASELINE": "false",
            "SKILLTRIAL_TARGET": "claude:haiku", "SKILLTRIAL_JUDGE": "none", "SKILLTRIAL_GATE": "every",
            "SKILLTRIAL_MAX_COST_USD": "2", "SKILLTRIAL_ENV": "A, B", "SKILLTRIAL_CELL": "ours", "OTHER": "x",
        }
    )  # fmt: skip
    assert config.repetitions == 3 and config.timeout_s == 1.5 and config.baseline is False
    assert config.targets == (TargetConfig(backend="claude-code", model="haiku"),)
    assert config.judge == "none" and config.gate.cases == "every"
    assert config.budgets.max_cost_usd == 2.0 and config.env == ("A", "B")


def test_an_empty_variable_is_not_set() -> None:
    assert from_environment({"SKILLTRIAL_REPETITIONS": ""}) == (Config(), ())


def test_wrong_values_in_variables_are_named_together() -> None:
    with pytest.raises(UsageError) as caught:
        from_environment({"SKILLTRIAL_REPETITIONS": "0", "SKILLTRIAL_METRIC": "best", "SKILLTRIAL_TARGET": "openai:"})
    for part in ("SKILLTRIAL_REPETITIONS='0': expected 1 or more", "SKILLTRIAL_METRIC='best'", "SKILLTRIAL_TARGET"):
        assert part in str(caught.value)


def test_a_misspelt_variable_is_pointed_out() -> None:
    assert from_environment({"SKILLTRIAL_REPETITION": "3"}).notes == (
        "SKILLTRIAL_REPETITION is no setting of ours; did you mean SKILLTRIAL_REPETITIONS?",
    )


def test_agent_skill_evals_variables_hold_where_ours_are_not_set() -> None:
    environ = {"ASE_AGENT_TIMEOUT": "30", "ASE_AGENT_RETRIES": "2", "ASE_HOOK_TIMEOUT": "5", "ASE_KEEP_WORKSPACE": "1"}
    layer = from_environment({**environ, "SKILLTRIAL_RETRIES": "0"})
    assert layer.config.timeout_s == 30 and layer.config.retries == 0
    assert layer.config.hooks.timeout_s == 5 and layer.config.keep_workspaces == "all"
    assert len(layer.notes) == 3


# ---------------------------------------------------------------- layers
def test_the_upper_layer_wins_and_lists_replace_lists() -> None:
    lower = Config(repetitions=2, env=("A", "B"), gate=GateConfig(cases="every", minimum_lift=0.1), options={"a": 1, "b": 1})
    upper = Config(repetitions=3, env=("C",), gate=GateConfig(minimum_lift=0.2), options={"b": 2})
    merged = merge(lower, upper)
    assert merged.repetitions == 3 and merged.env == ("C",)
    assert merged.gate == GateConfig(cases="every", minimum_lift=0.2)
    assert merged.options == {"a": 1, "b": 2}


def test_an_option_beats_what_the_file_says_of_single_targets() -> None:
    one = TargetConfig(
        backend="openai", model="a", base_url="http://file/v1", timeout_s=9, params={"temperature": 1, "top_p": 0.5}
    )
    other = TargetConfig(backend="codex", reasoning_effort="low", timeout_s=8)
    said = Config(options={"base_url": "http://option/v1", "params": {"temperature": 0}}, timeout_s=3)
    merged = merge(Config(targets=(one, other)), said)
    assert merged.targets == (
        TargetConfig(backend="openai", model="a", params={"top_p": 0.5}),
        TargetConfig(backend="codex", reasoning_effort="low"),
    )
    assert merged.options == said.options and merged.timeout_s == 3
    assert merge(Config(targets=(one,)), Config(targets=(one,), options={"base_url": "http://option/v1"})).targets == (one,)


def test_what_was_not_said_leaves_the_lower_layer() -> None:
    lower = Config(repetitions=2, baseline=False, env=("A",), judge="none", budgets=Budgets(action="warn", max_calls=3))
    unsaid = Config(repetitions=None, baseline=None, env=(), judge=None, budgets=Budgets(max_calls=None))
    assert merge(lower, unsaid) == lower
    assert merge(lower, Config(baseline=True)).baseline is True


def test_merging_keeps_what_was_said_mergeable() -> None:
    first = merge(Config(seed=1), Config(gate=GateConfig(cases="none")))
    assert merge(Config(gate=GateConfig(cases="every", on="point"), seed=5), first) == Config(
        gate=GateConfig(cases="none", on="point"), seed=1
    )
