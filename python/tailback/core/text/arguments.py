"""Checks the arguments of public functions against their annotations.

    @checked
    def over(results: Any, metric: str, by: Sequence[str] = ()) -> Drawing: ...

A message names the argument, its value and what to give: `by = 'queue'; give a list of texts`. If an annotation has a
name that is not a class, such as `Any`, the function itself checks the argument.
"""

from __future__ import annotations

import ast
import functools
import inspect
import operator
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ParamSpec, TypeVar

from tailback.core.text.given import shown

P = ParamSpec("P")
T = TypeVar("T")

#: The place of a wrong value, such as `[0]`, the value, and what to give. The check of a value returns one or None.
Fault = tuple[str, Any, str]
Test = Callable[[Any], Fault | None]

_WORDS = {
    "str": "a text",
    "int": "a whole number",
    "float": "a number",
    "bool": "True or False",
    "PathLike": "a path",
    "Path": "a path",
    "Callable": "a function",
    "Mapping": "a dict",
    "dict": "a dict",
    "Sequence": "a list",
    "Iterable": "a list",
    "list": "a list",
    "Numbers": "a list of numbers",
}
_LISTS = ("Sequence", "Iterable", "list")
#: Other names of annotations.
_ALIASES = {"Progress": "bool | None | Callable"}


def checked(f: Callable[P, T]) -> Callable[P, T]:
    """The function with a check of its arguments before each call. The check raises ValueError."""
    look = looks_at(f)

    @functools.wraps(f)
    def inner(*args: P.args, **kw: P.kwargs) -> T:
        look(args, kw)
        return f(*args, **kw)

    return inner


def looks_at(f: Callable[..., Any]) -> Callable[[Sequence[Any], Mapping[str, Any]], None]:
    """The check of a function's arguments; it raises ValueError for the first wrong one."""
    function: Any = inspect.unwrap(f)
    code = function.__code__
    positional = code.co_varnames[: code.co_argcount]
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    annotations = {k: str(v) for k, v in function.__annotations__.items() if k in names}
    defaults = function.__kwdefaults__ or {}
    tests: dict[str, Test] = {}

    def look(args: Sequence[Any], kw: Mapping[str, Any]) -> None:
        for name, value in (*zip(positional, args, strict=False), *kw.items()):
            if name not in annotations:
                continue
            if name not in tests:
                tree = ast.parse(annotations[name].strip("'\""), mode="eval").body
                tests[name] = _test(tree, function.__globals__)
            fault = tests[name](value)
            if fault is not None:
                path, wrong, expectation = fault
                default = defaults.get(name)
                like = f", such as {default!r}" if isinstance(default, str) and default and not path else ""
                raise ValueError(f"{name}{path} = {shown(wrong)}; give {expectation}{like}")

    return look


def _test(node: ast.expr, names: Mapping[str, Any]) -> Test:
    """The check of a value against this annotation; names have the meaning of the annotation's module."""
    alternatives = _alternatives(node)
    tests = [(p, _one(p, names)) for p in alternatives]
    if any(test is None for _, test in tests):
        return lambda value: None
    expectation = " or ".join(dict.fromkeys(w for w in map(_wanted, alternatives) if w))

    def look(value: Any) -> Fault | None:
        inner_fault: Fault | None = None
        for part, test in tests:
            fault = test(value) if test is not None else None
            if fault is None:
                return None
            # For a wrong value inside, the kind of the whole fits.
            if fault[0] and inner_fault is None and _head(part) != "None":
                inner_fault = fault
        return inner_fault or ("", value, expectation)

    return look


def _alternatives(node: ast.expr) -> list[ast.expr]:
    if isinstance(node, ast.BinOp):
        return [*_alternatives(node.left), *_alternatives(node.right)]
    if isinstance(node, ast.Name) and node.id in _ALIASES:
        return _alternatives(ast.parse(_ALIASES[node.id], mode="eval").body)
    return [node]


def _head(node: ast.expr) -> str:
    if isinstance(node, ast.Subscript):
        return _head(node.value)
    if isinstance(node, ast.Attribute):
        return node.attr
    if isinstance(node, ast.Constant):
        return "None" if node.value is None else "Other"
    return node.id if isinstance(node, ast.Name) else "Other"


def _inside(node: ast.expr) -> list[ast.expr]:
    """The types in the brackets of an annotation."""
    if not isinstance(node, ast.Subscript):
        return []
    return list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]


def _wanted(node: ast.expr) -> str:
    head, elements = _head(node), _inside(node)
    if head == "None":
        return ""
    if head == "Literal":
        return " or ".join(repr(ast.literal_eval(x)) for x in elements)
    if head == "tuple":
        return f"{len(elements)} values together: ({', '.join(_wanted(x) or 'a value' for x in elements)})"
    if head in _LISTS and elements:
        entry = " or ".join(w for w in map(_wanted, _alternatives(elements[0])) if w)
        plural = {"a text": "texts", "a number": "numbers", "a whole number": "whole numbers"}.get(entry, "")
        return f"a list of {plural}" if plural else "a list"
    return _WORDS.get(head) or f"a {head}"


def _one(node: ast.expr, names: Mapping[str, Any]) -> Test | None:
    """The check of whether a value is of this kind; None for an unknown kind."""
    head, elements = _head(node), _inside(node)
    expectation = _wanted(node)
    if head == "Literal":
        words = [ast.literal_eval(x) for x in elements]
        return lambda value: None if isinstance(value, str) and value in words else ("", value, expectation)
    if head in _LISTS or head == "tuple":
        element_tests = [_test(x, names) for x in elements if not (isinstance(x, ast.Constant) and x.value is ...)]
        has_fixed_length = head == "tuple" and len(element_tests) == len(elements)
        return lambda value: _of_list(value, element_tests, has_fixed_length, expectation)
    if head in ("Mapping", "dict"):
        entry = _test(elements[1], names) if len(elements) == 2 else None
        return lambda value: _of_dict(value, entry, expectation)
    of_class: Any = names.get(head)
    if head not in _IS and (of_class in (Any, object) or not isinstance(of_class, type)):
        return None
    is_one = _IS[head] if head in _IS else lambda value: isinstance(value, of_class)
    return lambda value: None if is_one(value) else ("", value, expectation)


def _of_list(value: Any, each: Sequence[Test], fixed: bool, wanted: str) -> Fault | None:
    if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Iterable):
        return "", value, wanted
    if not isinstance(value, (list, tuple)) or not each:
        # An iterator can be read only once, so it is not read here.
        return None
    if fixed and len(value) != len(each):
        return "", value, wanted
    for i, x in enumerate(value):
        fault = each[i if fixed else 0](x)
        if fault is not None:
            return f"[{i}]{fault[0]}", fault[1], fault[2]
    return None


def _of_dict(value: Any, entry: Test | None, wanted: str) -> Fault | None:
    if not isinstance(value, Mapping):
        return "", value, wanted
    for key, x in value.items() if entry is not None else ():
        fault = entry(x) if entry is not None else None
        if fault is not None:
            return f"[{key!r}]{fault[0]}", fault[1], fault[2]
    return None


def _is_whole(value: Any) -> bool:
    try:
        operator.index(value)
    except TypeError:
        return False
    return not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    if isinstance(value, (bool, str, bytes)):
        return False
    try:
        float(value)
    except (TypeError, ValueError, OverflowError):
        return False
    return True


def _are_numbers(value: Any) -> bool:
    if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Iterable):
        return False
    kind = getattr(getattr(value, "dtype", None), "kind", None)
    if kind is not None:
        return kind in "biuf" and getattr(value, "ndim", 1) == 1
    return not isinstance(value, (list, tuple)) or all(isinstance(x, (int, float)) or _is_number(x) for x in value)


_IS: dict[str, Callable[[Any], bool]] = {
    "None": lambda value: value is None,
    "str": lambda value: isinstance(value, str),
    "int": _is_whole,
    "float": _is_number,
    "bool": lambda value: isinstance(value, bool) or type(value).__name__ in ("bool_", "bool"),
    "PathLike": lambda value: isinstance(value, os.PathLike),
    "Path": lambda value: isinstance(value, os.PathLike),
    "Callable": callable,
    "Numbers": _are_numbers,
}
