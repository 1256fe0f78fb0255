"""Reading TOML files of data (studies, sweeps) into typed structures.

Unknown keys are refused, because a misspelt key would be a rule that is not applied. The message names the file, the
key's path, the value and what to write instead.
"""

from __future__ import annotations

import copy
import difflib
import re
import tomllib
import typing
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from tailback.core.text import room, toml
from tailback.core.text.os_errors import os_message
from tailback.core.text.plain import read_text

#: The names of Python's types in messages about a file.
_TYPES = {
    "object": "a table", "array": "a list", "str": "a text", "int": "a whole number", "float": "a number",
    "bool": "true or false", "null": "no value",
}  # fmt: skip


class FileError(ValueError):
    """A file of data that is missing, or that contradicts itself.

    The message begins with the file and, if it is about one key, the key's path: `plan.toml: axis.rate: ...`. The key's
    line number is added.
    """

    def __init__(self, message: str) -> None:
        super().__init__(_with_line(message))


def _with_line(message: str) -> str:
    from tailback import _core

    match = re.match(r"""(.+?\.toml): (?:([\w.\[\]-]+)(?=: | = |, ))?(?:: )?(?:there is no key "([^"]+)")?""", message)
    if not match or not (match[2] or match[3]):
        return message
    path = ".".join(x for x in (match[2], match[3]) if x)
    try:
        line_number = _core.toml_line(read_text(Path(match[1])), path)
    except (OSError, UnicodeError):
        return message
    return message if line_number is None else f"{match[1]}:{line_number}{message[len(match[1]) :]}"


class Table(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, frozen=True):
    """A table of a file."""


T = TypeVar("T", bound=Table)


def read_toml(path: Path, optional: bool = False) -> dict[str, Any]:
    """A file as a dict; empty if the file is absent and may be."""
    if optional and not path.is_file():
        return {}
    try:
        text = read_text(path)
        room.promise_text(len(text), str(path))
        return toml.loads(text)
    except OSError as e:
        raise FileError(os_message(e)) from e
    except UnicodeDecodeError as e:
        raise FileError(f"{path}: this is not UTF-8 text at byte {e.start}; name a TOML file") from e
    except tomllib.TOMLDecodeError as e:
        raise FileError(f"{path}: {e}; write TOML: KEY = VALUE, and tables [NAME]") from e
    except RecursionError as e:
        raise FileError(f"{path}: its tables are nested too deeply; name a TOML file") from e


def read_table(kind: type[T], table: Any, file: Path | str, at: str = "", shared: Mapping[str, str] | None = None) -> T:
    """A table of a file as its structure. `at` is its path in the file, such as `runs.sb.axis.queue`. For each key of
    another table, `shared` has the path of that table.

    Raises `FileError`, whose message names the file, the key, its value, and what to write instead.
    """
    try:
        return msgspec.convert(table, kind)
    except msgspec.ValidationError as e:
        raise FileError(f"{file}: {_said(kind, table, at, str(e), shared or {})}") from None


def safe_id(name: str, file: Path | str, at: str) -> str:
    """Checks a name under which results are stored. Raises `FileError` for a name that would lead to another folder."""
    from tailback.core.store.paths import unsafe

    fault = unsafe(name)
    if fault is not None:
        raise FileError(f"{file}: {at} = {name!r}: {fault}")
    return name


def _said(kind: type[Table], table: Any, at: str, message: str, shared: Mapping[str, str]) -> str:
    """The message of a msgspec error, with the value that it is about and the nearest existing key."""
    # A message ends in " - at `$.path`", or in " - at `key` in `$.path`" for a key.
    fault, _, inner = message.replace("`key` in ", "").partition(" - at `$")
    inner = _with_keys(kind, table, inner)
    unknown = re.match(r"Object contains unknown field `(.*)`", fault)
    first_key = re.match(r"\.([^.\[`]+)", inner)
    at = shared.get(first_key[1] if first_key else unknown[1] if unknown else "", at)
    path = f"{at}{inner.rstrip('`')}" if at else inner.rstrip("`").lstrip(".")
    lead = f"{path}: " if path else ""
    if unknown:
        key, names = unknown[1], list(_fields(kind))
        near = difflib.get_close_matches(key, names, 1)
        hint = f'did you mean "{near[0]}"?' if near else f"there are {', '.join(sorted(names))}"
        return f'{lead}there is no key "{key}"; {hint}'
    missing_field = re.match(r"Object missing required field `(.*)`", fault)
    if missing_field:
        return f'{lead}the key "{missing_field[1]}" is missing; add {missing_field[1]} = ...'
    value = _at(table, inner.rstrip("`"))
    value_text = f" = {value!r}" if value is not None else ""
    if fault.startswith("Invalid enum value"):
        choices = _choices(kind, re.sub(r"\[.*|`", "", inner.rpartition(".")[2]))
        if choices:
            return f"{path}{value_text}: there is no such choice; there are {', '.join(map(str, choices))}"
    if fault.startswith("Expected"):
        fault = re.sub(r"`([a-z| ]+)`", lambda m: " or ".join(_TYPES.get(x, x) for x in m[1].split(" | ")), fault)
    return f"{path or kind.__doc__}{value_text}: {fault[0].lower()}{fault[1:]}"


def _with_keys(kind: type[Table], table: Any, path: str) -> str:
    """The path of the wrong value with the user's own keys, for which msgspec writes `[...]`."""
    path_before, dots, path_after = path.partition("[...]")
    table_around = _at(table, path_before)
    if not dots or not isinstance(table_around, dict):
        return path
    for key in table_around:
        table_copy = copy.deepcopy(table)
        tested_table = _at(table_copy, path_before)
        for other in [k for k in tested_table if k != key]:
            del tested_table[other]
        try:
            msgspec.convert(table_copy, kind)
        except msgspec.ValidationError as e:
            if "[...]" in str(e):
                return _with_keys(kind, table_copy, f"{path_before}.{key}{path_after}")
    return path


def _fields(kind: type[Table]) -> list[str]:
    return [f.encode_name for f in msgspec.structs.fields(kind)]


def _choices(kind: type[Table], key: str) -> list[Any]:
    """The words that a key may have, in the table or in a table inside it."""
    tables = msgspec.json.schema(kind).get("$defs", {}).values()
    schemas_of_key = [t["properties"][key] for t in tables if key in t.get("properties", {})]
    # The schema does not describe the keys of a value.
    keys = list(_words(typing.get_type_hints(kind).get(key)))
    return next((list(s.get("items", s)["enum"]) for s in schemas_of_key if "enum" in s.get("items", s)), keys)


def _words(hint: Any) -> Iterator[Any]:
    """The words of a type, wherever they are in it."""
    if typing.get_origin(hint) is typing.Literal:
        yield from typing.get_args(hint)
        return
    for inner in typing.get_args(hint):
        yield from _words(inner)


def _at(table: Any, path: str) -> Any:
    """The value at a path such as `.check[0].of`; None if the path does not name one key."""
    for key, index in re.findall(r"\.([^.\[]+)|\[(\d+|\.\.\.)\]", path):
        try:
            table = table[key] if key else table[int(index)]
        except (KeyError, IndexError, TypeError, ValueError):
            return None
    return table
