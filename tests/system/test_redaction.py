"""No secret survives, whatever its form; what only looks like one does."""

import base64
import json
import os
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skilltrial.system.encodings import base64_cores, forms
from skilltrial.system.redaction import Redactor
from skilltrial.system.secret_shapes import sensitive

SECRET = 'sk-ant-api03-0sdk3kd/+a9&"x<y'
PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEAq1\nabcd1234+/==\n-----END RSA PRIVATE KEY-----"
PLANTED = {  # the text, and what must be gone
    "Authorization: Bearer abc123def456": "abc123def456",
    "bearer AbCdEfGhIjKl": "AbCdEfGhIjKl",
    "api_key=hunter2xyz": "hunter2xyz",
    'api_key="x1y2z3w4"': "x1y2z3w4",
    '{"api_key": "hunter2xyz"}': "hunter2xyz",
    r"{\"api_key\": \"hunter2xyz\"}": "hunter2xyz",
    "refresh_token=rt-12345678": "rt-12345678",
    "token=abc12345": "abc12345",
    "password: hunter2": "hunter2",
    "DB_PASSWORD=s3cr3t!": "s3cr3t!",
    "tool --password hunter2": "hunter2",
    "client_secret: 'it is a secret 9'": "it is a secret 9",
    "os.environ['API_KEY'] = 'abc12345'": "abc12345",
    "**Password:** hunter2": "hunter2",
    "<password>hunter2</password>": "hunter2",
    "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY": "wJalrXUtnFEMI",
    PEM: "abcd1234+/==",
    PEM.rpartition("\n")[0]: "MIIEowIBAAKCAQEAq1",
    PEM.partition("\n")[2]: "MIIEowIBAAKCAQEAq1",
    json.dumps({"key": PEM}): "MIIEowIBAAKCAQEAq1",
    "it is sk-abcdefghijklmnopqrst1234.": "sk-abcdefghij",
    "sk-proj-abc_DEF-123456789012345": "sk-proj-abc",
    "sk-ant-api03-AbCd1234efgh5678ijkl": "AbCd1234",
    "sk-or-v1-0123456789abcdef0123456789abcdef": "0123456789abcdef",
    "AIzaSyA1234567890abcdefghijklmnopqrstuv": "SyA12345",
    "ghp_0123456789abcdefghijklmnopqrstuvwxyz": "0123456789",
    "github_pat_11ABCDEFG0abcdefghijkl_mnop": "11ABCDEFG0",
    "AKIAIOSFODNN7EXAMPLE": "IOSFODNN7",
    "xoxb-123456789012-abcdefghij": "123456789012",
    "sk_live_0123456789abcdef": "0123456789",
    "hf_abcdefghijklmnopqrstuvwxyz01": "abcdefghij",
    "npm_abcdefghijklmnopqrstuvwxyz0123456789": "abcdefghij",
    "gsk_abcdefghijklmnopqrstuvwx1234": "abcdefghij",
    "xai-abcdefghijklmnopqrstuvwx1234": "abcdefghij",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc-_123": "eyJzdWIi",
    "postgres://user:p4ssw0rd@db.example/x": "p4ssw0rd",
}
HARMLESS = [
    "password_policy: strict",
    "input_tokens: 345",
    '{"output_tokens": 17, "max_tokens": 64, "total_tokens": 12}',
    "commit 3b18e512dba79e4c8300dd08aeb37f8e728b8dad",
    "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "123e4567-e89b-12d3-a456-426614174000",
    "Bearer token is used in docs",
    "Bearer authentication is required",
    "password: none",
    "password: null",
    "token: true",
    "API_KEY=<your key>",
    "api_key: ${OPENAI_API_KEY}",
    "api_key_env: OPENAI_API_KEY",
    "Authorization: required",
    "The password: must be long",
    "Secret: always read the fine print",
    "password = getpass()",
    "token = os.environ['TOKEN']",
    "client = OpenAI(api_key=api_key)",
    "PWD=/root/x",
    "risk-averse-and-very-long-hyphenated-word",
    "-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----",
    "{'token': 'the', 'logprob': -1.0}",
    '{"password": {"type": "string"}}',
    "https://host:8080/path?x=1@y",
    "monkey: banana",
]


@pytest.mark.parametrize("text", PLANTED)
def test_a_planted_secret_is_masked_counted_and_masked_only_once(text: str) -> None:
    masked, count = Redactor().text(f"before {text}\nafter" if not text.startswith("MII") else f"before\n{text}\nafter")
    assert PLANTED[text] not in masked
    assert count == 1
    assert "[redacted]" in masked
    assert masked.startswith("before") and masked.endswith("after")
    assert Redactor().text(masked) == (masked, 0)


@pytest.mark.parametrize("text", HARMLESS)
def test_a_harmless_line_stays_as_it_is(text: str) -> None:
    assert Redactor().text(text) == (text, 0)


def test_the_key_word_stays() -> None:
    assert Redactor().text("api_key=hunter2xyz")[0] == "api_key=[redacted]"
    assert Redactor().text("Authorization: Bearer abc123def456")[0] == "Authorization: Bearer [redacted]"


@pytest.mark.parametrize("form", sorted(forms(SECRET)))
def test_a_secret_handed_out_is_masked_in_every_encoding(form: str) -> None:
    redactor = Redactor()
    redactor.learn(SECRET)
    masked, count = redactor.text(f"a {form} b")
    assert form not in masked
    assert count >= 1


@pytest.mark.parametrize("before", range(80))
def test_base64_is_found_at_every_alignment_and_across_wrapped_lines(before: int) -> None:
    redactor = Redactor()
    redactor.learn(SECRET)
    noise = random.Random(before)
    text = base64.encodebytes(noise.randbytes(before) + SECRET.encode() + noise.randbytes(60)).decode()
    masked, count = redactor.text(text)
    assert count == 1
    assert not any(core in "".join(masked.split()) for core in base64_cores(SECRET.encode()))


def test_a_secret_is_found_in_utf_16_and_among_bytes_that_are_no_text() -> None:
    redactor = Redactor()
    redactor.learn("hunter2!")
    data = b"\xff\xfe" + "x hunter2! y".encode("utf-16-le") + b"\xff hunter2! \x80"
    masked, count = redactor.data(data)
    assert count == 2
    assert b"hunter2!" not in masked
    assert "hunter2!".encode("utf-16-le") not in masked
    assert masked.startswith(b"\xff\xfe") and masked.endswith(b" \x80")


def test_a_value_too_short_to_be_a_secret_is_not_learned() -> None:
    redactor = Redactor()
    redactor.learn("abc")
    assert redactor.text("abc abc") == ("abc abc", 0)


def test_lines_of_a_secret_with_many_lines_are_masked_one_by_one() -> None:
    redactor = Redactor()
    redactor.learn("first line of the secret\nsecond line of the secret\n")
    assert redactor.text("only the second line of the secret leaked")[1] == 1


def test_values_under_sensitive_keys_are_masked_and_their_neighbours_kept() -> None:
    given_value = {
        "apiKey": "abc",
        "headers": {"Authorization": "Basic dXNlcjpw", "Accept": "text/html"},
        "password": {"type": "string", "value": "hunter2"},
        "password_policy": "strict",
        "usage": {"input_tokens": 12, "prompt_tokens_details": {"cached_tokens": 0}},
        "token": None,
        "list": ["password: hunter2", 3],
        "secrets": ["plain"],
    }
    masked, count = Redactor().value(given_value)
    assert masked == {
        **given_value,
        "apiKey": "abc",
        "headers": {"Authorization": "[redacted]", "Accept": "text/html"},
        "password": {"type": "string", "value": "[redacted]"},
        "list": ["password: [redacted]", 3],
    }
    assert count == 3
    assert Redactor().value({"apiKey": "abcdef"}) == ({"apiKey": "[redacted]"}, 1)


BEFORE = [
    "",
    "an api ",
    "secret",
    "next_",
    "Basic",
    "-----BEGIN RSA PRIVATE KEY-----",
    "say: ",
    "token",
    '"',
    "\\",
    "bearer",
    *HARMLESS,
]


@pytest.mark.parametrize("text", [*PLANTED, "--password hunter2"])
def test_what_stands_before_and_after_a_text_hides_nothing_in_it(text: str) -> None:
    redactor = Redactor()
    for other in BEFORE:
        assert not redactor.clean([other, text, other]), other
        (_, masked, _), count = redactor.value([other, text, other])
        assert (masked, count > 0) == (redactor.text(text)[0], True), other


def test_harmless_texts_are_clean_together() -> None:
    assert Redactor().clean(text for text in HARMLESS)


def test_a_clean_value_is_handed_back_itself() -> None:
    value = {"a": ["b", {"c": 1}]}
    assert Redactor().value(value)[0] is value


def test_names_are_judged_by_their_last_word() -> None:
    names = [
        "OPENAI_API_KEY",
        "clientSecret",
        "x-api-key",
        "db.password",
        "Set-Cookie",
        "refreshToken",
        "AccountKey",
        "authorization",
    ]
    assert all(map(sensitive, names))
    spared = [
        "password_policy",
        "max_token",
        "tokens",
        "input_tokens",
        "api_key_env",
        "tokenizer",
        "secret_name",
        "key",
        "monkey",
    ]
    assert not any(map(sensitive, spared))


def test_a_secret_split_over_events_of_a_stream_is_masked() -> None:
    redactor = Redactor()
    redactor.learn("hunter2-secret")
    pieces, count = redactor.texts(["the key is hun", "ter2-", "secret, ok"])
    assert pieces == ["the key is [redacted]", "", ", ok"]
    assert count == 1


CHUNKS = st.lists(st.integers(1, 40), min_size=1, max_size=30)
LINES = st.lists(
    st.sampled_from(
        ["plain words\n", f"x {SECRET} y\n", "password: hunter2 and more\n", f"{PEM}\n", "é ü 表\n", f"\udc80{SECRET[:-4]}", "no end ",
         base64.encodebytes(b"ab" + SECRET.encode() * 3).decode(), '{"api_key": "abc12345xyz"}\n', "ghp_0123456789abcdefghijklmnopqrstuvwxyz\n"]
    ),
    max_size=12,
)  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(lines=LINES, sizes=CHUNKS)
def test_borders_between_chunks_hide_nothing(lines: list[str], sizes: list[int]) -> None:
    redactor = Redactor()
    redactor.learn(SECRET)
    data = "".join(lines).encode("utf-8", "surrogateescape")
    stream = redactor.stream()
    out, at, turn = b"", 0, 0
    while at < len(data):
        out += stream.feed(data[at : at + sizes[turn % len(sizes)]])
        at += sizes[turn % len(sizes)]
        turn += 1
    out += stream.close()
    assert (out, stream.count) == redactor.data(data)


def test_a_long_line_without_an_end_is_passed_on_in_time_and_masked() -> None:
    redactor = Redactor()
    redactor.learn(SECRET)
    stream = redactor.stream()
    data = (b"x " * 3000 + SECRET.encode() + b" ") * 60
    passed = b"".join(stream.feed(data[at : at + 1000]) for at in range(0, len(data), 1000))
    assert len(passed) > len(data) // 2
    whole = passed + stream.close()
    assert SECRET.encode() not in whole
    assert whole.count(b"[redacted]") == 60 == stream.count


def test_no_text_raises(tmp_path: object) -> None:
    redactor = Redactor()
    redactor.learn(SECRET)
    for seed in range(200):
        noise = random.Random(seed)
        alphabet = [
            "password",
            "=",
            ":",
            '"',
            "'",
            "\\",
            "\n",
            "-----BEGIN ",
            "PRIVATE KEY-----",
            "é",
            "\udcff",
            "token",
            " ",
            "://",
            "@",
        ]
        text = "".join(noise.choice(alphabet) for _ in range(60))
        masked, _ = redactor.text(text)
        assert isinstance(masked, str)
        assert redactor.text(os.fsencode(text).decode("latin-1"))
