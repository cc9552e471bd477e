"""--fallback: the next server, with its own URL and its own key alone."""

from __future__ import annotations

from claw.cancel import CancelToken
from claw.cli.config import UserConfig
from claw.cli.model_access import fallback_choices, provider_for, with_fallbacks
from claw.cli.places import find_places
from claw.cli.settings import Flags, resolve
from claw.cli.workbench import Workbench
from claw.providers import FallbackProvider
from tests.support.command import Finished, Shell
from tests.support.server import Server, Turn, close_at_once, model, reply, serve, status

KEYS = {"ONE_KEY": "sk-of-the-first-server", "TWO_KEY": "sk-of-the-second-server"}
ENV = Turn(calls=(("call_1", "bash", {"command": "env"}),))


def configure(shell: Shell, one: Server, two: Server, more: str = "") -> None:
    shell.config.write_text(
        f'{more}\n[presets.one]\nbase_url = "{one.url}"\nkey_variable = "ONE_KEY"\n'
        f'[presets.two]\nbase_url = "{two.url}"\nkey_variable = "TWO_KEY"\n'
    )


def run(shell: Shell, *arguments: str, **variables: str) -> Finished:
    return shell.claw(
        "run", "Do it", "--provider", "one", "--model", "m", *arguments, **KEYS, **variables
    )


def test_the_next_server_answers_and_it_is_told(shell: Shell) -> None:
    with serve(close_at_once) as one, serve(reply("Done")) as two:
        configure(shell, one, two)
        done = run(shell, "--fallback", "two:n", CLAW_API_KEY="sk-of-neither")
    assert (done.code, done.out) == (0, "Done\n")
    assert "trying again with two:n" in done.err
    assert len(one.requests) == 3
    assert {r.headers["authorization"] for r in one.requests} == {f"Bearer {KEYS['ONE_KEY']}"}
    assert [r.headers["authorization"] for r in two.requests] == [f"Bearer {KEYS['TWO_KEY']}"]
    assert two.requests[0].body["model"] == "n"


def test_the_files_fallback_is_used_and_the_command_lines_wins(shell: Shell) -> None:
    with serve(status(503, "busy", **{"retry-after-ms": "5"})) as one, serve(reply("Done")) as two:
        configure(shell, one, two, 'fallback = ["two:of-file"]')
        assert run(shell).code == 0
        assert run(shell, "--fallback", "two:of-flag").code == 0
    assert [r.body["model"] for r in two.requests] == ["of-file", "of-flag"]


def test_a_wrong_key_is_the_users_to_mend(shell: Shell) -> None:
    with serve(status(401, "wrong key")) as one, serve(reply("Done")) as two:
        configure(shell, one, two)
        done = run(shell, "--fallback", "two:n")
    assert done.code == 1
    assert "Check the API key" in done.err
    assert two.requests == []


def test_the_last_failure_is_the_one_that_ends_it(shell: Shell) -> None:
    with serve(close_at_once) as one, serve(status(401, f"bad {KEYS['TWO_KEY']}")) as two:
        configure(shell, one, two)
        done = run(shell, "--fallback", "two:n", "--output", "json")
    assert done.code == 1
    assert done.envelope["error"]["kind"] == "auth"
    assert KEYS["TWO_KEY"] not in done.out + done.err
    assert "no key was sent" not in done.err


def test_no_tool_sees_any_key(shell: Shell) -> None:
    copies = {"COPY_OF_ONE": KEYS["ONE_KEY"], "COPY_OF_TWO": KEYS["TWO_KEY"], "KEPT": "yes"}
    with serve(model(ENV, "Done")) as one, serve(reply("no")) as two:
        configure(shell, one, two)
        done = run(shell, "--fallback", "two:n", "--approve", "all", **copies)
        result = one.requests[1].messages[-1]["content"]
    assert done.code == 0
    assert "KEPT=yes" in result
    assert "_KEY" not in result
    assert "COPY_OF" not in result


def test_a_fallback_that_cannot_be_used_is_said_before_anything_is_sent(shell: Shell) -> None:
    with serve(reply("no")) as one, serve(reply("no")) as two:
        configure(shell, one, two)
        for wish, words in [
            ("two", "isn't PRESET:MODEL"),
            ("tow:n", 'did you mean "two"?'),
            ("deepseek:n", "no key for deepseek: set DEEPSEEK_API_KEY"),
        ]:
            done = run(shell, "--fallback", wish)
            assert done.code == 2
            assert words in done.err
            assert done.err.count("\n") == 1
        assert one.requests == two.requests == []


def test_another_model_of_the_chosen_server_keeps_the_fallbacks(shell: Shell) -> None:
    flags = Flags(provider="ollama", model="m", fallback=("vllm:n",), cwd=str(shell.folder))
    settings = resolve(flags, {}, UserConfig(shell.config))
    fallbacks = fallback_choices(settings.fallbacks, {}, "", CancelToken())
    first = provider_for(settings.server, None, "")
    bench = Workbench(
        settings=settings,
        places=find_places({"CLAW_HOME": str(shell.home)}),
        provider=with_fallbacks(settings.server, first, fallbacks),
        tools=(),
        system="",
        env={},
        fallbacks=fallbacks,
    )
    other = bench.with_model("other").provider
    assert isinstance(other, FallbackProvider)
    assert [choice.name for choice in other.choices] == ["ollama:other", "vllm:n"]


def test_config_show_lists_them_without_their_keys(shell: Shell) -> None:
    with serve() as one, serve() as two:
        configure(shell, one, two, 'fallback = ["two:n"]\nprovider = "one"\neffort = "low"')
        shown = shell.claw("config", "show", **KEYS)
    assert f"two:n at {two.url}" in shown.out
    assert "key set (TWO_KEY)" in shown.out
    assert "low" in shown.out
    assert not any(key in shown.out for key in KEYS.values())


def test_a_preset_of_the_users_own_in_whole(shell: Shell) -> None:
    """URL, key from a command, and quirks, all from config.toml."""
    with serve(reply("<think>Hm.</think>", "Yes")) as server:
        shell.config.write_text(
            f'provider = "mine"\nmodel = "m"\n[presets.mine]\nbase_url = "{server.url}"\n'
            'key_command = "echo key-of-a-command"\n[presets.mine.quirks]\nthink_tags = true\n'
            'tools = false\nstream_options = false\nmax_tokens_field = "max_completion_tokens"\n'
        )
        done = shell.claw("run", "Do it", "--max-output-tokens", "9", "--output", "jsonl")
    assert done.events[-1]["text"] == "Yes"
    thought = [e["text"] for e in done.events if e["type"] == "reasoning_delta"]
    assert "".join(thought) == "Hm."
    (request,) = server.requests
    assert request.headers["authorization"] == "Bearer key-of-a-command"
    assert request.body["max_completion_tokens"] == 9
    assert not request.body.keys() & {"tools", "stream_options", "max_tokens"}
