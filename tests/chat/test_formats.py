"""The two wire formats: what is sent, what is read."""

from typing import Any

import pytest

from skilltrial.chat import anthropic, openai
from skilltrial.chat.complete import join
from skilltrial.chat.failures import Said
from skilltrial.chat.wire import Ask, Habits, Heard, NoAnswer, check_params, cost
from skilltrial.errors import UsageError
from skilltrial.records.evidence import Usage

TOOL: dict[str, Any] = {
    "type": "function",
    "function": {"name": "look", "description": "Looks", "parameters": {"type": "object"}},
}


def ask(model: str = "m", **fields: Any) -> Ask:
    return Ask(**{"model": model, "system": None, "user": "hi", "params": {}, **fields})


def test_a_request_without_a_system_text_has_one_message() -> None:
    assert openai.body(ask(), Habits()) == {"model": "m", "messages": [{"role": "user", "content": "hi"}]}


def test_params_tools_and_schema_are_added() -> None:
    body = openai.body(
        ask(system="s", params={"temperature": 0, "top_k": 3}, tools=(TOOL,), tool_choice="auto", json_schema={"type": "object"}),
        Habits(),
    )
    assert body["messages"][0] == {"role": "system", "content": "s"}
    assert (body["temperature"], body["top_k"], body["tools"], body["tool_choice"]) == (0, 3, [TOOL], "auto")
    assert body["response_format"]["json_schema"]["schema"] == {"type": "object"}


@pytest.mark.parametrize("model", ["o3", "o1-mini", "gpt-5", "gpt-5-mini", "openai/o4-mini", "openrouter/openai/GPT-5.1"])
def test_new_models_get_max_completion_tokens(model: str) -> None:
    body = openai.body(ask(model, params={"max_tokens": 9}), Habits())
    assert body["max_completion_tokens"] == 9 and "max_tokens" not in body


@pytest.mark.parametrize("model", ["gpt-4o", "olmo-2", "meta/llama:free", "o/gemma", "my-gpt-5"])
def test_other_models_keep_max_tokens(model: str) -> None:
    assert openai.body(ask(model, params={"max_tokens": 9}), Habits())["max_tokens"] == 9


@pytest.mark.parametrize("name", ["model", "messages", "system", "stream"])
def test_params_may_not_replace_what_the_harness_sends(name: str) -> None:
    with pytest.raises(UsageError, match=f"target 't': params may not set '{name}'"):
        check_params({name: "x"}, "target 't'")


@pytest.mark.parametrize(
    ("said", "dropped"),
    [
        (
            Said("Unsupported value: 'temperature' does not support 0 with this model.", "unsupported_value", "temperature"),
            "temperature",
        ),
        (Said("Unsupported parameter: 'top_k' is not supported with this model.", "unsupported_parameter", None), "top_k"),
        (Said("Extra inputs are not permitted", "", "top_k"), "top_k"),
        (Said("Unrecognized request argument supplied: top_k", "invalid_request_error", None), "top_k"),
        (Said("response_format of type json_schema is not supported", "", "response_format.type"), "response_format"),
        (Said("This model does not support structured outputs", "", None), "response_format"),
    ],
)
def test_the_parameter_a_server_refuses_is_left_out_from_then_on(said: Said, dropped: str) -> None:
    habits = Habits()
    question = ask(params={"temperature": 0, "top_k": 3}, json_schema={})
    assert openai.adapt(400, said, openai.body(question, habits), habits)
    assert set(habits.dropped) == {dropped}
    assert dropped not in openai.body(question, habits)


@pytest.mark.parametrize(
    "said",
    [
        Said("messages: string too long", "", "messages"),
        Said("Tools are not supported", "", "tools"),
        Said("temperature must be between 0 and 2", "invalid_value", "temperature"),
        Said("something else", "", None),
    ],
)
def test_nothing_is_left_out_for_other_complaints(said: Said) -> None:
    habits = Habits()
    assert not openai.adapt(400, said, {"model": "m", "messages": [], "tools": [], "temperature": 9}, habits)
    assert not habits.dropped


def test_the_servers_own_word_renames_max_tokens() -> None:
    habits = Habits()
    question = ask(params={"max_tokens": 5})
    said = Said(
        "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.", "unsupported_parameter", "max_tokens"
    )
    assert openai.adapt(400, said, openai.body(question, habits), habits)
    assert openai.body(question, habits)["max_completion_tokens"] == 5


def chat(message: dict[str, Any], reason: str = "stop", **more: Any) -> dict[str, Any]:
    return {"model": "m-1", "choices": [{"message": message, "finish_reason": reason}], **more}


def heard(data: Any) -> Heard:
    result = openai.read(data)
    assert isinstance(result, Heard)
    return result


def test_usage_is_read_with_cached_and_reasoning_tokens_and_cost() -> None:
    usage = {
        "prompt_tokens": 100, "completion_tokens": 20, "prompt_tokens_details": {"cached_tokens": 60},
        "completion_tokens_details": {"reasoning_tokens": 7}, "cost": 0.25,
    }  # fmt: skip
    result = heard(chat({"content": "4"}, usage=usage))
    assert result.usage == Usage(
        input_tokens=100, cached_tokens=60, output_tokens=20, reasoning_tokens=7, cost_usd=0.25, cost_source="provider"
    )
    assert (result.text, result.model, result.warnings) == ("4", "m-1", ())


@pytest.mark.parametrize(
    "usage", [None, {}, {"prompt_tokens": None}, {"prompt_tokens": "12", "cost": "free"}, {"prompt_tokens": -1}, "none"]
)
def test_what_is_not_reported_stays_unknown(usage: Any) -> None:
    assert heard(chat({"content": "4"}, usage=usage)).usage == Usage()


def test_requested_tool_calls_become_events_that_say_so() -> None:
    calls = [
        {"id": "c1", "function": {"name": "look", "arguments": '{"at": "sky", "n": [1]}'}},
        {"id": "c2", "function": {"name": "look", "arguments": "{broken"}},
        {"id": "c3", "function": {"name": "go", "arguments": ""}},
        "junk",
    ]
    events = heard(chat({"content": None, "tool_calls": calls}, "tool_calls")).events
    assert [(event.kind, event.name, event.call, event.arguments) for event in events] == [
        ("tool_call", "look", "c1", {"at": "sky", "n": [1]}),
        ("tool_call", "look", "c2", "{broken"),
        ("tool_call", "go", "c3", {}),
    ]
    assert {event.text for event in events} == {"requested, not executed"}


@pytest.mark.parametrize(
    ("message", "reason", "text", "warning"),
    [
        ({"content": "half"}, "length", "half", "cut off at the token limit"),
        ({"content": ""}, "length", "", "before any text"),
        ({"content": "part"}, "content_filter", "part", "content filter"),
        ({"content": None, "refusal": "I will not."}, "stop", "I will not.", "refused"),
        ({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}, "stop", "ab", None),
    ],
)
def test_unusual_endings_keep_their_text_with_a_warning(
    message: dict[str, Any], reason: str, text: str, warning: str | None
) -> None:
    result = heard(chat(message, reason))
    assert result.text == text
    assert (warning in result.warnings[0]) if warning else not result.warnings


def test_a_filter_that_leaves_nothing_is_no_answer() -> None:
    result = openai.read(chat({"content": ""}, "content_filter"))
    assert isinstance(result, NoAnswer) and result.outcome == "agent_error"


@pytest.mark.parametrize("data", [{}, [], "x", None, {"choices": []}, {"choices": [{}]}, {"choices": ["x"]}, {"choices": None}])
def test_a_reply_without_choices_is_no_answer(data: Any) -> None:
    result = openai.read(data)
    assert isinstance(result, NoAnswer) and result.outcome == "infrastructure_error"


def test_the_messages_format_has_system_apart_and_always_a_token_limit() -> None:
    assert anthropic.body(ask(system="s"), Habits()) == {
        "model": "m", "max_tokens": 4096, "system": "s", "messages": [{"role": "user", "content": "hi"}],
    }  # fmt: skip
    assert anthropic.body(ask(params={"max_tokens": 7, "stop": "END"}), Habits())["stop_sequences"] == ["END"]
    assert "system" not in anthropic.body(ask(), Habits())


@pytest.mark.parametrize(
    ("choice", "mapped"),
    [
        ("auto", {"type": "auto"}),
        ("none", {"type": "none"}),
        ("required", {"type": "any"}),
        ({"type": "function", "function": {"name": "look"}}, {"type": "tool", "name": "look"}),
        ({"type": "tool", "name": "look"}, {"type": "tool", "name": "look"}),
    ],
)
def test_tools_and_their_choice_are_translated(choice: Any, mapped: dict[str, Any]) -> None:
    body = anthropic.body(ask(tools=(TOOL,), tool_choice=choice), Habits())
    assert body["tools"] == [{"name": "look", "description": "Looks", "input_schema": {"type": "object"}}]
    assert body["tool_choice"] == mapped


def test_a_messages_reply_is_read_with_cache_tokens_inside_the_input() -> None:
    data = {
        "model": "claude-x",
        "content": [{"type": "thinking", "thinking": "…"}, {"type": "text", "text": "It is "}, {"type": "text", "text": "4."}, {"type": "tool_use", "id": "t1", "name": "look", "input": {"at": "sky"}}],
        "stop_reason": "tool_use",
        "usage": {"input_tokens": 10, "cache_read_input_tokens": 1000, "cache_creation_input_tokens": 5, "output_tokens": 90},
    }  # fmt: skip
    result = anthropic.read(data)
    assert isinstance(result, Heard)
    assert (result.text, result.model) == ("It is 4.", "claude-x")
    assert result.usage == Usage(input_tokens=1015, cached_tokens=1000, cache_write_tokens=5, output_tokens=90)
    assert [(event.name, event.call, event.arguments, event.text) for event in result.events] == [
        ("look", "t1", {"at": "sky"}, "requested, not executed")
    ]


@pytest.mark.parametrize(("reason", "warning"), [("max_tokens", "cut off"), ("refusal", "refused"), ("pause_turn", "paused")])
def test_unusual_endings_of_messages_are_warned_about(reason: str, warning: str) -> None:
    result = anthropic.read({"content": [{"type": "text", "text": "x"}], "stop_reason": reason})
    assert isinstance(result, Heard) and warning in result.warnings[0]


def test_an_extra_input_is_left_out_of_messages() -> None:
    habits = Habits()
    question = ask(params={"seed": 1, "temperature": 0})
    assert anthropic.adapt(
        400, Said("seed: Extra inputs are not permitted", "invalid_request_error", None), anthropic.body(question, habits), habits
    )
    assert "seed" not in anthropic.body(question, habits) and "temperature" in anthropic.body(question, habits)
    assert not anthropic.adapt(
        400, Said("max_tokens: Extra inputs are not permitted", "", None), anthropic.body(question, habits), habits
    )


def test_costs_follow_the_configured_prices() -> None:
    usage = Usage(input_tokens=1000, cached_tokens=600, output_tokens=100)
    prices = {"prompt": 1e-6, "completion": 2e-6, "input_cache_read": 1e-7, "input_cache_write": 5e-6}
    priced = cost(usage.model_copy(update={"cache_write_tokens": 100}), prices)
    assert priced.cost_usd == pytest.approx(300e-6 + 60e-6 + 500e-6 + 200e-6)
    assert priced.cost_source == "pricing-config"
    assert cost(usage, {"prompt": 1e-6, "completion": 2e-6}).cost_usd == pytest.approx(1000e-6 + 200e-6)


@pytest.mark.parametrize(
    ("usage", "prices"),
    [
        (Usage(output_tokens=1), {"prompt": 1.0, "completion": 1.0}),
        (Usage(input_tokens=1), {"prompt": 1.0, "completion": 1.0}),
        (Usage(input_tokens=1, output_tokens=1), {"prompt": 1.0}),
        (Usage(input_tokens=1, output_tokens=1), None),
    ],
)
def test_a_cost_with_a_part_missing_is_unknown(usage: Usage, prices: dict[str, float] | None) -> None:
    assert cost(usage, prices).cost_usd is None


def test_what_the_provider_charged_goes_before_configured_prices() -> None:
    usage = Usage(input_tokens=1, output_tokens=1, cost_usd=3.0, cost_source="provider")
    assert cost(usage, {"prompt": 1.0, "completion": 1.0}) == usage


@pytest.mark.parametrize(
    ("base", "path", "url"),
    [
        ("http://h/v1", "/chat/completions", "http://h/v1/chat/completions"),
        ("http://h/v1/", "/chat/completions", "http://h/v1/chat/completions"),
        ("http://h/v1/chat/completions", "/chat/completions", "http://h/v1/chat/completions"),
        ("http://h/x?api-version=2", "/chat/completions", "http://h/x/chat/completions?api-version=2"),
        ("https://api.anthropic.com", "/v1/messages", "https://api.anthropic.com/v1/messages"),
        ("https://api.anthropic.com/v1", "/v1/messages", "https://api.anthropic.com/v1/messages"),
        ("http://h/v1/messages", "/v1/messages", "http://h/v1/messages"),
    ],
)
def test_base_urls_are_taken_in_every_usual_form(base: str, path: str, url: str) -> None:
    assert join(base, path) == url
