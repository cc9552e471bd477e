"""Which key goes to which URL. A maker's key goes to that maker alone.

| the URL comes from                      | the key may come from, in this order               |
|-----------------------------------------|----------------------------------------------------|
| the preset, or the maker's `*_BASE_URL` | CLAW_API_KEY (where the user named the preset),    |
|                                         | the maker's variable, `[presets.X] key_command`    |
| `[presets.X] base_url`                  | the variable that the table names, its key_command |
| config.toml's `base_url`                | CLAW_API_KEY, config.toml's `key_command`          |
| `--base-url`, CLAW_BASE_URL             | CLAW_API_KEY                                       |
| the preset of a `--fallback`            | as in the first two rows, never CLAW_API_KEY       |
"""

from __future__ import annotations

import signal
from collections.abc import Mapping

from claw.cancel import CancelToken
from claw.cli.piped import read_to_end
from claw.errors import Cancelled, ConfigError
from claw.values import frozen

GENERAL_VARIABLE = "CLAW_API_KEY"
SAME_CTRL_C_S = 0.2
COMMAND_SECONDS = 30.0


@frozen
class KeySource:
    """Where the key for one URL may come from: variables first to last, then a command.

    required: the server is known to want one.
    """

    variables: tuple[str, ...] = (GENERAL_VARIABLE,)
    command: str = ""
    required: bool = False

    def variable(self, environ: Mapping[str, str]) -> str:
        """The variable that holds the key; "" when none is set."""
        return next((name for name in self.variables if environ.get(name)), "")

    @property
    def advice(self) -> str:
        """How the user gives a key; "" where no variable is looked at."""
        return f"set {' or '.join(reversed(self.variables))}" if self.variables else ""

    def where(self, environ: Mapping[str, str]) -> str:
        """What `config show` says: the name of the source, never the key."""
        if variable := self.variable(environ):
            return f"set ({variable})"
        return "from key_command" if self.command else "not set"


def fetch_key(
    source: KeySource, environ: Mapping[str, str], provider: str, cancel: CancelToken
) -> str | None:
    """The key, or None where none is set and none is needed. Runs the key_command if it must.

    ConfigError: a key is required and missing, or can't be a key. No message contains it.
    """
    if variable := source.variable(environ):
        return _checked(environ[variable], variable)
    if source.command:
        return _checked(_printed_by(source.command, cancel), "key_command's output")
    if source.required:
        raise ConfigError(
            f"no key for {provider}: {source.advice} in the environment, or give a key_command "
            f"in [presets.{provider}] of config.toml"
        )
    return None


def _checked(key: str, name: str) -> str | None:
    from claw.providers.endpoint import checked_key

    try:
        return checked_key(key)
    except ConfigError as error:
        raise ConfigError(f"{name}: {error.message}") from error


def _printed_by(command: str, cancel: CancelToken) -> str:
    """What the user's own key_command prints, without the line end."""
    import subprocess

    if "\0" in command:
        raise ConfigError("key_command holds a NUL character, which no command can")
    with (
        subprocess.Popen(
            command, shell=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE
        ) as process,
        cancel.child(timeout=COMMAND_SECONDS) as limit,
    ):
        assert process.stdout is not None
        try:
            output = read_to_end(process.stdout.fileno(), limit, what="key_command's output")
        except Cancelled as error:
            process.kill()
            cancel.raise_if_cancelled()
            raise ConfigError(
                f"key_command took over {COMMAND_SECONDS:.0f} s: {_program(command)}"
            ) from error
        code = process.wait()
    printed = (output or b"").decode("utf-8", "replace").strip("\r\n")
    if code == -signal.SIGINT:  # a Ctrl-C goes to the whole group: ours may not be here yet
        cancel.wait(SAME_CTRL_C_S)
        cancel.raise_if_cancelled()
    if code:
        raise ConfigError(f"key_command failed with exit code {code}: {_program(command)}")
    if not printed:
        raise ConfigError(f"key_command printed nothing: {_program(command)}")
    return printed


def _program(command: str) -> str:
    """The command's first word: what stands behind it may be the secret itself."""
    return f"{command.split()[0]} ..." if len(command.split()) > 1 else command
