"""Values of options from a TOML file (``--config``), and those in effect, written beside the result as such a file."""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from enum import Enum
from pathlib import Path
from typing import Any

import typer

from worstclass.cli.console import OptionError
from worstclass.exceptions import UnknownOptionError

#: what was typed, with the values of a settings file among it
WORDS: ContextVar[list[str]] = ContextVar("words")
#: the settings in effect, as TOML; empty outside of a command
EFFECTIVE: ContextVar[str] = ContextVar("effective", default="")
#: the file of these settings beside a result
SETTINGS_FILE = "settings.toml"
#: parameters that say how a command talks, not what it does
TALK = ("json", "config", "quiet", "help", "help_all")


def read_config(context: typer.Context, file: Path | None) -> Path | None:
    """Take the values of a TOML file as defaults of the command that is being parsed."""
    if file is not None and not context.resilient_parsing:
        known = {key_of(param): param for param in context.command.params if param.name not in TALK}
        values = {key.replace("_", "-"): value for key, value in _read(file).items()}
        for key in values:
            if key not in known:
                raise UnknownOptionError(key, f"{file}: worstclass {context.info_name}", sorted(known))
        given = {known[key].name: _as_typed(known[key], key, value, file) for key, value in values.items()}
        context.default_map = {**(context.default_map or {}), **given}
    return file


def key_of(param: Any) -> str:
    """Return the name of a parameter in a settings file: that of its option, or of the argument."""
    option = max(param.opts, key=len) if param.param_type_name == "option" else param.name
    return str(option).lstrip("-").replace("_", "-")


def note_effective(context: typer.Context, values: Mapping[str, Any]) -> None:
    """Keep the settings in effect, as a file that ``--config`` reads, and the words that stand for such a file."""
    params: list[Any] = [param for param in context.command.params if param.name in values and param.name not in TALK]
    name = context.command_path.removeprefix("worstclass ")
    lines = [f"# settings in effect; to do the same again: worstclass {name} --config {SETTINGS_FILE}"]
    found = ((key_of(param), values[param.name]) for param in params)
    EFFECTIVE.set("\n".join([*lines, *(f"{key} = {_toml(value)}" for key, value in found if _is_set(value))]) + "\n")
    if values.get("config") is not None:
        WORDS.set([*name.split(), *(word for param in params for word in _words(param, values[param.name]))])


def write_settings(folder: Path) -> None:
    """Write the settings in effect into the folder of a result."""
    if text := EFFECTIVE.get():
        (folder / SETTINGS_FILE).write_text(text, encoding="utf-8")


def _read(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise OptionError(f"{file} is not TOML: {error}") from None


def _as_typed(param: Any, key: str, value: Any, file: Path) -> Any:
    """Return a value of a file as the command line would bring it, so that it is checked alike."""
    is_flag, is_list = getattr(param, "is_flag", False), getattr(param, "multiple", False)
    if is_list and isinstance(value, dict):
        value = [f"{name}={one}" for name, one in value.items()]
    values = value if isinstance(value, list) and is_list else [value]
    fits = all(isinstance(one, bool) if is_flag else type(one) in (str, int, float) for one in values)
    if not fits:
        wanted = (
            "true or false" if is_flag else "text or a number" + (", or a list or table of them" if is_list else "")
        )
        raise OptionError(f"{file}: {key} must be {wanted}. Got {value!r} instead.")
    return value if is_flag else [str(one) for one in values] if is_list else str(value)


def _is_set(value: Any) -> bool:
    return value is not None and value is not False and value != []


def _toml(value: Any) -> str:
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float) and math.isfinite(value):
        return repr(value)
    return json.dumps(_text(value), ensure_ascii=False).replace("\x7f", "\\u007f")


def _text(value: Any) -> str:
    return str(value.value if isinstance(value, Enum) else value)


def _words(param: Any, value: Any) -> Iterator[str]:
    """Yield what one would type for the value of a parameter."""
    for one in value if isinstance(value, list | tuple) else [value] if _is_set(value) else []:
        if param.param_type_name == "option":
            yield max(param.opts, key=len)
        if one is not True:
            yield _text(one)
