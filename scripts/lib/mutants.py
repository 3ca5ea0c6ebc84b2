# SPDX-License-Identifier: MIT
"""Makes small changes to a C source, one at a time.  scripts/mutate runs the tests on each; a test must fail.

It works on lines and words and knows no grammar.  It relies on the style of the tree: one statement a line,
`&&` at a line's end.  scripts/mutate leaves out a mutant that does not compile.
"""

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Mutant:
    """The text at `start` to `end` of the source is replaced by `new`."""
    file: str
    line: int
    kind: str
    start: int
    end: int
    new: str
    before: str  # the statement or line, its white space made single blanks
    after: str

    def applied(self, source):
        return source[:self.start] + self.new + source[self.end:]


NO_CODE = re.compile(r'''/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|'''
                     r'''^[ \t]*\#(?:\\\n|[^\n])*''',
                     re.DOTALL | re.MULTILINE)


def code_of(source):
    """The source, as long as it was, with blanks for comments, literals and the preprocessor's lines."""
    return NO_CODE.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), source)


def line_around(source, start, end):
    return source.rfind("\n", 0, start) + 1, source.find("\n", end) % (len(source) + 1)


OPERATORS = [  # kind, pattern (its first group is replaced), replacement
    ("condition", r"(?<![-<])\s(<)\s", "<="), ("condition", r"\s(<=)\s", "<"),
    ("condition", r"\s(>)\s", ">="), ("condition", r"\s(>=)\s", ">"),
    ("condition", r"\s(==)\s", "!="), ("condition", r"\s(!=)\s", "=="),
    ("condition", r"\s(&&)\s", "||"), ("condition", r"\s(\|\|)\s", "&&"),
    ("condition", r"(?<![\w)=])(!)[\w(]", ""),
    ("arithmetic", r"[\w)\]]\s(\+)\s", "-"), ("arithmetic", r"[\w)\]]\s(-)\s", "+"),
    ("arithmetic", r"\s(\+=)\s", "-="), ("arithmetic", r"\s(-=)\s", "+="),
    ("arithmetic", r"[\w)\]](\s[+-] 1)\b", ""),
    ("flags", r"[\w)](\s\|\s[A-Z][A-Z_]+)\b", ""), ("flags", r"[\w)]\s(\|=)\s", "="),
    ("flags", r"[\w)]\s(&=)\s", "="),
    ("value", r"\b(true)\b", "false"), ("value", r"\b(false)\b", "true"),
]


def operators(source, code):
    for kind, pattern, new in OPERATORS:
        for found in re.finditer(pattern, code):
            yield kind, found.start(1), found.end(1), new


def closing(code, at):
    """Where the parenthesis that opens at `at` is closed."""
    depth = 0
    for i in range(at, len(code)):
        depth += (code[i] == "(") - (code[i] == ")")
        if depth == 0:
            return i
    return len(code)


def branches(source, code):
    for found in re.finditer(r"\bif (\()", code):
        end = closing(code, found.start(1))
        for new in ("true", "false"):
            yield "branch", found.end(1), end, new


# Beginnings of lines that cannot be left out: declarations, and words of the language.
NOT_LEFT_OUT = re.compile(
    r"(const|static|struct|enum|union|unsigned|signed|int|char|bool|void|long|short|u?int\d+_t|s?size_t|"
    r"uintptr_t|double|float|register|extern|pthread_\w+_t|pid_t|socklen_t|return|goto|case|default|else|do|"
    r"while|for|if|switch|"
    r"_Static_assert|__builtin_prefetch|__atomic_signal_fence|__extension__|TEXT)\b")


def statements(code):
    """Start and end of each statement inside a function that can be left out as a whole."""
    for found in re.finditer(r"(?<=[;{}):])\s*\n((?: {4})+)(?=[A-Za-z_*(+-])(?!\(void\))", code):
        start, end = found.end(), code.find(";", found.end()) + 1
        text = code[start:end]
        if text and not re.search(r"[{}]", text) and not NOT_LEFT_OUT.match(text):
            yield start, end, found[1]


def left_out(source, code):
    for start, end, _ in statements(code):
        yield "left out", start, end, ";" + "\n" * source.count("\n", start, end)


def returns(source, code):
    """A return, break or continue within a block, or under a condition, does not happen."""
    for found in re.finditer(r"\n {8,}((?:return\b[^;{}]*|break|continue);)", code):
        before = code[:found.start()].rstrip()
        if not before.endswith(":") and not re.search(r"case [^\n]*$", before):
            yield "left out", found.start(1), found.end(1), ";"


def swapped(source, code):
    """Two calls, or a call and an assignment, one after the other."""
    all_of = list(statements(code))
    for (start, end, indent), (start2, end2, indent2) in zip(all_of, all_of[1:]):
        first, second = source[start:end], source[start2:end2]
        if indent == indent2 and code[end:start2].strip() == "" and "\n" not in first + second and (
                re.match(r"[a-z_]\w+\(", first) or re.match(r"[a-z_]\w+\(", second)):
            before = code[:start].rstrip()
            if before.endswith((";", "{", "}")):
                yield "order", start, end2, second + source[end:start2] + first


def one_line(text):
    return " ".join(text.split())


def mutants_of(name, source):
    """All of one file, in the order of its lines."""
    code = code_of(source)
    found = {}
    for make in (operators, branches, left_out, returns, swapped):
        for kind, start, end, new in make(source, code):
            head, tail = line_around(source, start, end)
            before = source[head:tail]
            after = source[head:start] + new + source[end:tail]
            if one_line(before) != one_line(after):
                line = source.count("\n", 0, start) + 1
                found.setdefault((start, end, new),
                                 Mutant(name, line, kind, start, end, new, one_line(before),
                                                           one_line(after)))
    return [found[key] for key in sorted(found)]
