"""Finds the commands of `tc` and `ip` in text that a user pastes from a shell. This module handles the parts that
belong to the shell: prompts, `sudo`, continued lines, comments and variables.

The grammar is the part of POSIX's shell (XCU chapter 2) that lines of `tc` need: words, quotes, `;` and `&&`,
redirections, assignments, `${NAME:-DEFAULT}` and whole numbers in `$((...))`. Conditions and loops are not evaluated.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from tailback.linux.units import TcError


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


#: The most lines of a paste, characters of a line, and characters of a variable's value.
MOST_LINES, MOST_LETTERS, MOST_VALUE = 20_000, 20_000, 4096
#: Programs whose commands are read, and programs that set up a queue with other words.
TC, IP = "tc", "ip"
#: Words before a command that do not change it.
_BEFORE = _set(
    """sudo doas exec nohup time eval command env do then else if ! { up post-up pre-up down post-down pre-down
    nsenter docker podman kubectl ssh"""
)
#: Programs that print or look up a line and do not run it.
_SAYS = _set("echo printf logger alias man which type help grep")
#: Words of a shell that begin or end a block.
_BLOCKS = _set("if then else elif fi for while until do done case esac function { } ;;")
#: The operator after which the next command runs only if the one before it fails.
_ELSE = "||"
#: Objects of `tc`, and the objects of `ip` that are read.
_OBJECTS = ("qdisc", "class", "filter")

#: A prompt: USER@HOST with a folder, with or without brackets; or one sign before a command.
_PROMPT = re.compile(
    r"\A\s*(?:\([\w.-]{1,40}\)\s*)?(?:\[[^\]\s]{1,64}[^\]]{0,64}\]|[\w.-]{1,64}@[\w.-]{1,64}[^#$%>]{0,80})[#$%>]\s+"
)
_SIGN = re.compile(r"\A\s*(?:[$%>]|mininet>|\+)\s+(?=\S)")
_ROOT_SIGN = re.compile(r"\A\s*#\s*(?=(?:sudo\s+)?(?:/\S*/)?(?:tc|ip)\s+\S)")
_ASSIGNED = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
_NAME = re.compile(r"[A-Za-z_]\w*|\d|[@*#?!-]")
_REDIRECTION = re.compile(r"\d*(?:>>?|<|>&|&>)(?:&?\d|-)?")
_ARITHMETIC = re.compile(r"\s*(\d{1,18}|[-+*/%()])")


@dataclass(frozen=True)
class Command:
    """The words of a command from the program's name on, and its line number."""

    line: int
    words: tuple[str, ...]


@dataclass
class Paste:
    """The commands of a text, and the parts that are not commands."""

    commands: list[Command] = field(default_factory=list)
    #: The parts that were left out: the line, the part, and the reason.
    left: list[tuple[int, str, str]] = field(default_factory=list)
    #: Variables that were assigned, by name.
    variables: dict[str, str] = field(default_factory=dict)


def commands(text: str) -> Paste:
    """The commands of a paste, in order."""
    paste = Paste()
    logical = list(_logical(text))
    # `# tc ...` is a command of root, with its prompt. If other lines have no `#`, it is a comment.
    is_typed = any(_begins(line) for _, line in logical)
    for line_number, line in logical:
        bare = _without_prompt(line, keep_sign=is_typed)
        for words in _split(paste, line_number, bare):
            _take(paste, line_number, words)
    return paste


def _logical(text: str) -> Iterator[tuple[int, str]]:
    """Lines as a shell joins them, each with the number of its first line."""
    physical_lines = text.replace("\r\n", "\n").replace("\r", "\n").replace("\N{NO-BREAK SPACE}", " ").split("\n")
    if len(physical_lines) > MOST_LINES:
        raise TcError(f"a paste of {len(physical_lines)} lines is too long; give at most {MOST_LINES}")
    begun_line, first_number = "", 0
    for line_number, line in enumerate(physical_lines, 1):
        # A paste may have gained blanks behind the backslash.
        line = line.removeprefix("\ufeff").rstrip()
        if len(begun_line) + len(line) > MOST_LETTERS:
            raise TcError(f"line {line_number} has more than {MOST_LETTERS} characters; give one command a line")
        first_number = first_number or line_number
        if line.endswith("\\") and not line.lstrip().startswith("#"):
            begun_line += line[:-1] + " "
            continue
        yield first_number, begun_line + (_SIGN.sub("", line) if begun_line and line.lstrip().startswith(">") else line)
        begun_line, first_number = "", 0
    if begun_line:
        yield first_number, begun_line


def _begins(line: str) -> bool:
    words = _PROMPT.sub("", _SIGN.sub("", line)).split()
    return bool(words) and (_base(words[0]) == TC or (words[0] == "sudo" and TC in map(_base, words[1:4])))


def _without_prompt(line: str, keep_sign: bool) -> str:
    # A shell's trace, or a list in a mail, has several signs.
    for _ in range(3):
        shorter = _SIGN.sub("", _PROMPT.sub("", line, count=1), count=1)
        if shorter == line:
            break
        line = shorter
    return line if keep_sign else _ROOT_SIGN.sub("", line, count=1)


def _base(word: str) -> str:
    return word.rpartition("/")[2]


def _split(paste: Paste, number: int, line: str) -> Iterator[list[str]]:
    """The commands of a line, as words without quotes, with the values of variables."""
    words: list[str] = []
    after_or = False
    try:
        for word in _words(paste, line):
            if word is None or word is _ELSE:
                if words and not (after_or and _left_over(paste, number, words)):
                    yield words
                words, after_or = [], word is _ELSE or (after_or and not words)
            elif words or not (assignment := _ASSIGNED.fullmatch(word)):
                words.append(word)
            else:
                paste.variables[assignment[1]] = assignment[2][:MOST_VALUE]
    except TcError as e:
        if words and _command(words) is not None:
            paste.left.append((number, "a line of tc", str(e)))
        return
    if words and not (after_or and _left_over(paste, number, words)):
        yield words


def _left_over(paste: Paste, number: int, words: list[str]) -> bool:
    """A command behind `||` runs only if the one before it fails."""
    if _command(words) is None:
        return False
    paste.left.append((number, "a line of tc", "it runs only if the command before it fails"))
    return True


def _words(paste: Paste, line: str) -> Iterator[str | None]:
    """The words of a line; None marks the end of a command."""
    position, word, skip = 0, None, False
    while position < len(line):
        c = line[position]
        if c in " \t":
            if word is not None and not skip:
                yield word
            skip = skip and word is None
            word, position = None, position + 1
            continue
        if word is None and c == "#":
            break
        if word is None and (redirection := _REDIRECTION.match(line, position)):
            # The target is the next word, unless it is a number.
            position, skip = redirection.end(), redirection[0][-1] in "<>"
            continue
        if c in ";|&()\n":
            if word is not None and not skip:
                yield word
            yield None
            word, skip, position = None, False, position + 1
            if line[position - 1 : position + 1] == "||":
                yield _ELSE
                position += 1
            continue
        if c in "<>":
            if word is not None:
                yield word
            word = None
            continue
        piece, position = _piece(paste, line, position)
        if c == "$" and (fields := piece.split()) != [piece]:
            # A shell splits the value of a variable into words if it has no quotes.
            for part in fields[:-1]:
                yield (word or "") + part
                word = None
            piece = fields[-1] if fields else ""
            if not fields and word is None:
                continue
        word = (word or "") + piece
        if len(word) > MOST_VALUE:
            raise TcError(f"a word of more than {MOST_VALUE} characters; give the value itself")
    if word is not None and not skip:
        yield word


def _piece(paste: Paste, line: str, at: int) -> tuple[str, int]:
    """A quoted part, the value of a variable, or one character."""
    c = line[at]
    if c == "'":
        end = line.find("'", at + 1)
        return (line[at + 1 :], len(line)) if end < 0 else (line[at + 1 : end], end + 1)
    if c == '"':
        pieces, at = [], at + 1
        while at < len(line) and line[at] != '"':
            if line[at] == "$":
                piece, at = _value(paste, line, at)
            else:
                at += line[at] == "\\" and at + 1 < len(line)
                piece, at = line[at], at + 1
            pieces.append(piece)
        return "".join(pieces), at + 1
    if c == "$":
        return _value(paste, line, at)
    if c == "`":
        raise TcError("it needs what another command prints; write the value in its place")
    if c == "\\" and at + 1 < len(line):
        return line[at + 1], at + 2
    return c, at + 1


def _value(paste: Paste, line: str, at: int) -> tuple[str, int]:
    """The value of `$...`. A variable without a value keeps its name, and the reader of the word refuses it."""
    if line.startswith("$((", at):
        end = line.find("))", at)
        if end < 0:
            raise TcError("$(( has no end; write )) after the sum")
        return _sum(paste, line[at + 3 : end]), end + 2
    if line.startswith("$(", at):
        raise TcError("it needs what another command prints; write the value in its place")
    if line.startswith("${", at):
        end = line.find("}", at)
        expression = line[at + 2 : end] if end > 0 else ""
        variable = _NAME.match(expression)
        if variable is None:
            raise TcError("${ has no name and no end; write the value in its place")
        after_name = expression[variable.end() :]
        default = re.fullmatch(r":?[-=](.*)", after_name, re.DOTALL)
        if variable[0] in paste.variables:
            return paste.variables[variable[0]], end + 1
        return (default[1] if default else "${" + variable[0] + "}"), end + 1
    variable = _NAME.match(line, at + 1)
    if variable is None:
        return "$", at + 1
    return paste.variables.get(variable[0], f"${variable[0]}"), variable.end()


def _sum(paste: Paste, text: str) -> str:
    """A sum of whole numbers, as a shell has it."""
    for _ in range(32):
        expanded = re.sub(r"\$?\{?\b([A-Za-z_]\w*)\}?", lambda m: paste.variables.get(m[1], m[0]), text)
        if expanded == text:
            break
        text = expanded[:MOST_VALUE]
    tokens: list[str] = []
    position = 0
    while position < len(text.rstrip()):
        token = _ARITHMETIC.match(text, position)
        if token is None or len(tokens) > 64:
            raise TcError("the sum in $((...)) has a variable that is not a whole number; write the value in its place")
        tokens.append(token[1])
        position = token.end()
    total = _Sum(tokens).total()
    if abs(total) >= 1 << 63:
        raise TcError("the sum in $((...)) is larger than a shell can count; write the value in its place")
    return str(total)


class _Sum:
    """Computes `+ - * / %` and brackets by recursive descent."""

    def __init__(self, tokens: list[str]) -> None:
        self.tokens = tokens

    def total(self) -> int:
        result = self.terms()
        if self.tokens:
            raise TcError("the sum in $((...)) cannot be read; write the value in its place")
        return result

    def terms(self) -> int:
        total = self.factors()
        while self.tokens and self.tokens[0] in "+-":
            total = total + self.factors() if self.tokens.pop(0) == "+" else total - self.factors()
        return total

    def factors(self) -> int:
        product = self.one()
        while self.tokens and self.tokens[0] in "*/%":
            sign, operand = self.tokens.pop(0), self.one()
            if sign != "*" and operand == 0:
                raise TcError("the sum in $((...)) divides by 0; write the value in its place")
            if sign == "*":
                product *= operand
            else:
                # A shell rounds towards zero.
                quotient = abs(product) // abs(operand) * (1 if (product < 0) == (operand < 0) else -1)
                product = quotient if sign == "/" else product - quotient * operand
            if abs(product) >= 1 << 63:
                raise TcError("the sum in $((...)) is larger than a shell can count; write the value in its place")
        return product

    def one(self) -> int:
        token = self.tokens.pop(0) if self.tokens else ""
        if token == "-":
            return -self.one()
        if token == "(":
            value = self.terms()
            if not self.tokens or self.tokens.pop(0) != ")":
                raise TcError("the sum in $((...)) lacks a bracket; write the value in its place")
            return value
        if not token.isdigit():
            raise TcError("the sum in $((...)) cannot be read; write the value in its place")
        return int(token)


def _take(paste: Paste, number: int, words: list[str]) -> None:
    """Keeps a command of a line from its program on, or leaves it out."""
    while words and words[0] in ("export", "local", "readonly", "declare", "set", "uci"):
        for word in words[1:]:
            if assignment := _ASSIGNED.fullmatch(word):
                paste.variables[assignment[1]] = assignment[2][:MOST_VALUE]
        return
    if not words or (words[0] in _BLOCKS and len(words) == 1):
        return
    if _base(words[0]) in _SAYS:
        return
    if (command := _command(words)) is not None:
        paste.commands.append(Command(number, command))
        return
    if words[0] in ("for", "while", "until", "if", "elif", "case", "function"):
        paste.left.append((number, words[0], "conditions and loops are not followed: every line counts once"))
    elif not words[0].startswith("#!") and re.fullmatch(r"[\w./-]{1,24}", words[0]):
        paste.left.append((number, _base(words[0]), "no command of tc"))
    else:
        paste.left.append((number, "a line", "no command of tc"))


def _command(words: list[str]) -> tuple[str, ...] | None:
    """The words from the program's name on; None if there is no program."""
    names = [_base(w) for w in words[:16]]
    # A script may name the program TC=/sbin/tc and run `$TC`.
    names = [TC if re.fullmatch(r"\$\{?TC(?:_BINARY|_CMD)?\}?", w, re.IGNORECASE) else w for w in names]
    for word_number, word in enumerate(names):
        if word == TC and (
            word_number == 0 or words[0] in _BEFORE or _base(words[0]) in (IP, "mnexec") or words[0][:1] in "h!({"
        ):
            return (TC, *words[word_number + 1 :])
    if names[0] == "sudo":
        return _command([w for i, w in enumerate(words[1:]) if i or not w.startswith("-")]) if len(words) > 1 else None
    if names[0] == IP:
        return (IP, *words[1:])
    # A batch for `tc -batch` has lines without the program.
    verbs = ("add", "replace", "change", "del", "delete", "link")
    if names[0] in _OBJECTS and len(words) > 2 and words[1] in verbs:
        return (TC, *words)
    return None
