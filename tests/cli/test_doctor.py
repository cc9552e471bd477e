"""`claw doctor` and `claw models`: what they print, what they write, and that the record works."""

from __future__ import annotations

import json
import signal
import time
import tomllib

import pytest

from tests.support.bent import BENDS, PATHS, WORDS, bent
from tests.support.command import Shell, finished
from tests.support.playing import playing
from tests.support.server import Behaviour, Peer, Request, never_answer, serve, status

KEY = "sk-very-secret-key"


def test_a_server_is_shown_as_a_table_with_its_record(shell: Shell) -> None:
    with serve(bent(refuses=["stream_options"])) as server:
        done = shell.claw("doctor", server.url)
    assert done.code == 0, done
    assert done.err == ""
    rows = done.out.splitlines()
    assert [row for row in rows if row.startswith("dialect") and row.endswith("ok")]
    assert [row for row in rows if row.startswith("requests") and row.endswith("needs a setting")]
    assert "stream_options = false" in rows
    assert f"claw --provider local-{server.port} --model m1" in rows[-1]
    assert max(map(len, rows[: rows.index("")])) <= 100
    assert not shell.config.exists()


def test_json_holds_all_of_it(shell: Shell) -> None:
    with serve(bent(refuses=["max_tokens"])) as server:
        done = shell.claw("doctor", server.url, "--json", "--name", "mine")
    told = json.loads(done.out)
    assert (told["status"], told["error"], told["usable"]) == ("completed", None, True)
    assert told["quirks"] == {"max_tokens_field": "max_completion_tokens"}
    assert told["preset"] == "mine"
    assert tomllib.loads(told["record"])["presets"]["mine"]["base_url"] == server.url
    assert {finding["what"] for finding in told["findings"]} >= {"dialect", "tool calls", "usage"}


@pytest.mark.parametrize("name", BENDS)
def test_the_record_makes_a_run_work_at_the_first_try(shell: Shell, name: str) -> None:
    how, quirks = BENDS[name]
    for path in PATHS:
        (shell.folder / path).write_text("text\n")
    with serve(bent(**how)) as server:
        done = shell.claw("doctor", server.url, "--write", "--name", "bent")
        assert done.code == 0, done
        asked = len(server.requests)
        ask = f"Read {PATHS[0]} and {PATHS[1]}"
        ran = shell.claw("run", ask, "--provider", "bent", "--model", "m1")
        made = server.requests[asked:]
    written = tomllib.loads(shell.config.read_text())["presets"]["bent"]
    assert written["quirks"] == quirks
    assert ran.code == 0, ran
    # One request for each reply: none was refused and mended.
    replies = 1 if quirks == {"tools": False} else 2
    assert len(made) == replies, [request.body for request in made]
    if not any(key.startswith("think_tag") for key in quirks):
        assert ran.out.endswith(f"{WORDS}\n")
    else:
        assert ran.out.endswith("Well.\n")
        assert "Hm." not in ran.out


def test_writing_keeps_the_rest_of_the_file(shell: Shell) -> None:
    before = b'# mine\r\nmodel = "m"   # odd   blanks\n\n[limits]\nmax_steps = 7'
    shell.config.write_bytes(before)
    with serve(bent(key=KEY)) as server:
        done = shell.claw("doctor", server.url, "--write", CLAW_API_KEY=KEY)
        again = shell.claw("doctor", server.url, "--write", CLAW_API_KEY=KEY)
    after = shell.config.read_bytes()
    assert done.code == 0, done
    assert after.startswith(before)
    presets = tomllib.loads(after.decode())["presets"]
    assert presets == {
        f"local-{server.port}": {"base_url": server.url, "key_variable": "CLAW_API_KEY"}
    }
    assert again.code == 2
    assert "already" in again.err
    assert shell.config.read_bytes() == after
    assert KEY not in done.out + done.err + again.out + again.err + after.decode()


@pytest.mark.parametrize(
    ("text", "name", "words"),
    [
        ("", "openai", "of its own"),
        ("", "two words", "letters"),
        ('presets = {a = {base_url = "http://h/v1"}}', "b", "by hand"),
    ],
)
def test_what_cant_be_written_is_refused(shell: Shell, text: str, name: str, words: str) -> None:
    shell.config.write_text(text)
    with serve(bent()) as server:
        done = shell.claw("doctor", server.url, "--write", "--name", name)
    assert done.code == 2, done
    assert words in done.err
    assert done.err.count("\n") == 1
    assert shell.config.read_text() == text


def test_writing_keeps_a_byte_order_mark(shell: Shell) -> None:
    before = b'\xef\xbb\xbfmodel = "m"\r\n'
    shell.config.write_bytes(before)
    with serve(bent()) as server:
        done = shell.claw("doctor", server.url, "--write", "--name", "mine")
        ran = shell.claw("models", "--provider", "mine")
    assert (done.code, ran.code) == (0, 0), (done, ran)
    assert shell.config.read_bytes().startswith(before)


def test_a_key_in_the_url_is_written_and_not_shown(shell: Shell) -> None:
    with serve(bent(path=f"/{KEY}/v1")) as server:
        url = server.url.replace("/v1", f"/{KEY}/v1")
        done = shell.claw("doctor", url, "--write", "--name", "mine", CLAW_API_KEY=KEY)
        told = shell.claw("doctor", url, "--json", CLAW_API_KEY=KEY)
    assert (done.code, told.code) == (0, 0), (done, told)
    assert KEY not in done.out + done.err + told.out + told.err
    assert "/[key]/v1" in done.out
    assert tomllib.loads(shell.config.read_text())["presets"]["mine"]["base_url"] == url


def test_a_linked_config_stays_a_link(shell: Shell) -> None:
    real = shell.folder / "real.toml"
    real.write_text("")
    shell.config.symlink_to(real)
    with serve(bent()) as server:
        assert shell.claw("doctor", server.url, "--write").code == 0
    assert shell.config.is_symlink()
    assert "[presets." in real.read_text()


def test_a_server_that_cant_be_used_writes_nothing(shell: Shell) -> None:
    with serve(status(401, "wrong key")) as server:
        done = shell.claw("doctor", server.url, "--write")
    assert done.code == 2
    assert "401" in done.out
    assert "set CLAW_API_KEY" in done.err
    assert not shell.config.exists()


def test_a_server_of_the_other_dialect_gets_it_into_its_record(shell: Shell) -> None:
    with playing("an-done-at-end") as url:
        done = shell.claw("doctor", url, "--model", "m", "--write", "--name", "other")
        ran = shell.claw("run", "Hi", "--provider", "other", "--model", "m")
    assert done.code == 0, done
    assert tomllib.loads(shell.config.read_text())["presets"]["other"]["dialect"] == "anthropic"
    assert (ran.code, ran.out) == (0, "Hi\n")


def test_nobody_there_is_one_line(shell: Shell) -> None:
    for arguments in (
        ["doctor", "http://127.0.0.1:9/v1"],
        ["models", "--base-url", "http://127.0.0.1:9"],
    ):
        done = shell.claw(*arguments)
        assert (done.code, done.out) == (1, "")
        assert "nothing listens at 127.0.0.1:9" in done.err
        assert done.err.count("\n") == 1


def test_ctrl_c_ends_it_at_once(shell: Shell) -> None:
    with (
        serve(never_answer) as server,
        shell.started("doctor", server.url) as process,
    ):
        server.wait_request()
        start = time.monotonic()
        process.send_signal(signal.SIGINT)
        done = finished(process)
        assert time.monotonic() - start < 5
    assert done.code == 130, done
    assert done.err == "claw: interrupted\n"


@pytest.mark.parametrize(
    ("number", "code", "words"),
    [(signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 143, "ended by TERM")],
)
def test_a_signal_leaves_what_was_found_as_json(
    shell: Shell, number: int, code: int, words: str
) -> None:
    def lists_and_falls_silent(peer: Peer, request: Request) -> None:
        (bent() if request.method == "GET" else never_answer)(peer, request)

    with (
        serve(lists_and_falls_silent) as server,
        shell.started("doctor", server.url, "--json") as process,
    ):
        server.wait_request()
        server.wait_request()
        process.send_signal(number)
        done = finished(process)
        told = json.loads(done.out)
        assert (done.code, done.err) == (code, f"claw: {words}\n")
        assert (told["status"], told["error"], told["usable"]) == ("cancelled", None, False)
        assert told["base_url"] == server.url
        assert [each["what"] for each in told["findings"]] == ["base URL", "models"]


def test_ctrl_c_ends_the_list_of_models_as_well(shell: Shell) -> None:
    with (
        serve(never_answer) as server,
        shell.started("models", "--base-url", server.url, "--json") as process,
    ):
        server.wait_request()
        process.send_signal(signal.SIGINT)
        done = finished(process)
    assert (done.code, done.err) == (130, "claw: interrupted\n")
    assert json.loads(done.out)["status"] == "cancelled"


def test_a_server_whose_replies_never_end_is_not_called_usable(shell: Shell) -> None:
    with serve(bent(finish=None)) as server:
        done = shell.claw("doctor", server.url)
    assert done.code == 1
    assert "without a finish reason" in done.out
    assert done.out.splitlines()[-1].startswith("verdict         claw can't use it")


def test_the_json_has_the_same_fields_however_it_ends(shell: Shell) -> None:
    with serve(bent()) as server, serve(status(404)) as other:
        ends = [
            shell.claw("doctor", server.url, "--json"),
            shell.claw("doctor", server.url, "--json", "--timeout", "0.0001"),
            shell.claw("doctor", server.url, "--json", "--write", "--name", "openai"),
            shell.claw("doctor", other.url, "--json", "--write"),
            shell.claw("doctor", "http://127.0.0.1:9/v1", "--json"),
            shell.claw("doctor", "localhost", "--json"),
        ]
    told = [json.loads(done.out) for done in ends]
    assert [done.code for done in ends] == [0, 1, 2, 2, 1, 2]
    assert {each.keys() == told[0].keys() for each in told} == {True}
    assert [each["status"] for each in told] == [
        *("completed", "deadline", "error", "error", "error", "error")
    ]
    assert all((each["error"] is None) == (each["status"] != "error") for each in told)
    assert told[2]["usable"]
    assert told[2]["findings"]
    assert told[3]["preset"] is None


@pytest.mark.parametrize("url", ["localhost:8080", "ftp://h/v1", "http://h/v1?x=y", "http://h:x"])
def test_a_url_that_is_none_is_called_what_the_user_gave(shell: Shell, url: str) -> None:
    done = shell.claw("doctor", url)
    assert done.code == 2
    assert "base URL" in done.err
    assert "--base-url" not in done.err
    assert done.err.count("\n") == 1


def test_the_dialect_is_called_what_config_toml_calls_it(shell: Shell) -> None:
    with serve(bent()) as server:
        done = shell.claw("doctor", server.url)
    assert "openai (Chat Completions)" in done.out


@pytest.mark.parametrize("key", [KEY, "hunter2"])
def test_no_output_and_no_file_holds_the_key(shell: Shell, key: str) -> None:
    """Not even where the server puts it among its models, or the user into key_command."""
    shell.config.write_text(f'[presets.mine]\nbase_url = "URL"\nkey_command = "echo {key}"\n')
    with serve(bent(key=key, models=[f"{key}/m", "m"])) as server:
        shell.config.write_text(shell.config.read_text().replace("URL", server.url))
        before = shell.config.read_text()
        ends = [
            shell.claw("doctor", server.url, "--write", "--name", "a", CLAW_API_KEY=key),
            shell.claw("doctor", "--provider", "mine", "--write", "--name", "b"),
            shell.claw("doctor", "--provider", "mine", "--json"),
            shell.claw("models", "--provider", "mine"),
            shell.claw("models", "--provider", "mine", "--json"),
        ]
    assert [done.code for done in ends] == [0] * 5, ends
    for done in ends:
        assert key not in done.out + done.err
        assert "[key]/m" in done.out
    added = shell.config.read_text().removeprefix(before)
    assert key not in added
    assert "add your key_command" in added


# --- without a URL --------------------------------------------------------------------------------


def test_the_check_up_names_keys_and_never_shows_them(shell: Shell) -> None:
    done = shell.claw("doctor", OPENAI_API_KEY=KEY, HTTPS_PROXY=f"http://me:{KEY}@127.0.0.1:9")
    assert done.code == 0, done
    assert "OPENAI_API_KEY is set" in done.out
    assert "ANTHROPIC_API_KEY" in done.out
    assert "HTTPS_PROXY" in done.out
    assert KEY not in done.out + done.err
    assert str(shell.config) in done.out
    assert "http://127.0.0.1:11434/v1" in done.out


def test_options_of_a_probe_want_a_server(shell: Shell) -> None:
    done = shell.claw("doctor", "--write")
    assert (done.code, done.out) == (2, "")
    assert done.err == "claw: --write, --name and --model go with a URL or --provider\n"
    told = shell.claw("doctor", "--write", "--json")
    assert (told.code, json.loads(told.out)["status"]) == (2, "error")
    assert json.loads(told.out)["error"]["message"] in told.err


def test_the_check_up_as_json(shell: Shell) -> None:
    done = shell.claw("doctor", "--json")
    told = json.loads(done.out)
    assert (told["status"], told["error"]) == ("completed", None)
    findings = told["findings"]
    assert {each["what"] for each in findings} >= {"claw", "Python", "config file", "terminal"}


def test_a_broken_config_is_a_fault_and_no_end(shell: Shell) -> None:
    shell.config.write_text("model = ")
    done = shell.claw("doctor")
    assert done.code == 1
    assert "isn't valid TOML" in done.out
    assert "Python" in done.out


# --- models ---------------------------------------------------------------------------------------


def test_models_are_listed_in_order(shell: Shell) -> None:
    with serve(bent(models=["b", "a\x1b]52;c;x\x07", "c"])) as server:
        plain = shell.claw("models", "--base-url", server.url)
        told = shell.claw("models", "--base-url", server.url, "--json")
    assert plain.code == 0, plain
    assert [line[0] for line in plain.out.splitlines()] == ["a", "b", "c"]
    assert "\x1b" not in plain.out
    assert json.loads(told.out)["models"][1:] == ["b", "c"]


def test_models_of_a_server_without_a_list(shell: Shell) -> None:
    with serve(bent(models=None)) as server:
        done = shell.claw("models", "--base-url", server.url)
    assert (done.code, done.out) == (1, "")
    assert "404" in done.err
    assert done.err.count("\n") == 1


def test_an_odd_entry_is_left_out_and_told(shell: Shell) -> None:
    odd = [{"id": "b"}, {"name": "x"}, None, 7, {"id": ""}, {"id": ["c"]}, "a", {"id": "b"}]
    with serve(lists(odd)) as server:
        plain = shell.claw("models", "--base-url", server.url)
        told = json.loads(shell.claw("models", "--base-url", server.url, "--json").out)
        seen = shell.claw("doctor", server.url, "--timeout", "2")
    assert (plain.code, plain.out) == (0, "a\nb\n")
    assert plain.err == "claw: 5 entries without a name left out\n"
    assert (told["models"], told["left_out"]) == (["a", "b"], 5)
    assert "2: b, a; 5 without a name" in seen.out


@pytest.mark.parametrize("entries", [[], None])
def test_an_empty_list_is_told(shell: Shell, entries: list[str] | None) -> None:
    with serve(lists(entries)) as server:
        done = shell.claw("models", "--base-url", server.url)
    assert (done.code, done.out) == (0, "")
    assert done.err == f"claw: {server.url} offers no models: its list is empty\n"


@pytest.mark.parametrize("entries", [[7, None], {"a": 1}, "text"])
def test_what_is_no_list_is_refused(shell: Shell, entries: object) -> None:
    with serve(lists(entries)) as server:
        done = shell.claw("models", "--base-url", server.url)
        told = json.loads(shell.claw("models", "--base-url", server.url, "--json").out)
    assert done.code == 1
    assert "no list of models" in done.err
    assert (told["status"], told["models"]) == ("error", [])


def test_a_name_takes_one_line(shell: Shell) -> None:
    with serve(lists([{"id": "a\nb\tc\ud800"}])) as server:
        done = shell.claw("models", "--base-url", server.url)
    assert (done.code, done.out) == (0, "a<U+000A>b<U+0009>c<U+D800>\n")


def lists(entries: object) -> Behaviour:
    """A server that does nothing but list these as its models."""
    return lambda peer, request: peer.answer(200, json.dumps({"data": entries}))


def test_models_with_nothing_set(shell: Shell) -> None:
    done = shell.claw("models")
    assert done.code == 2
    assert "--base-url" in done.err
