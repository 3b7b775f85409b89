#!/usr/bin/env python3
"""Highlighting against the compiler's tokens, on every program: a keyword is a keyword, a string a string, a comment a comment.

    run_highlighting.py pygments|textmate|files --bin DIR

files: what is committed is what grammar/editors/generate_editors.py writes; every keyword and super instruction is in each file.
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from harness import BIN, ROOT

HERE = pathlib.Path(__file__).resolve().parent
EDITORS = ROOT / "grammar" / "editors"
sys.path[:0] = [str(HERE), str(EDITORS), str(ROOT / "tests" / "python"), str(ROOT / "runtime" / "python")]

import compiler_tokens  # noqa: E402
import generate_editors  # noqa: E402
import needed  # noqa: E402


def compare(sialc, tokens_of, least=500):
    failures, count = [], 0
    for path, text, wanted in compiler_tokens.valid(sialc):
        failures += compiler_tokens.differences(path, wanted, tokens_of(text))
        count += 1
    print(*failures[:20], sep="\n")
    print(f"{count} programs, {len(failures)} with differences")
    sys.exit(1 if failures or count < least else 0)


def pygments(sialc):
    needed.need("pygments", "numpy")
    from pygments.token import Comment, Error, Keyword, Name, Number, Operator, Punctuation, String, Whitespace

    from sialx.pygments_lexer import SialLexer

    kinds = [(Comment, "comment"), (Operator.Word, "keyword"), (Keyword, "keyword"), (Name, "name"), (String, "string"), (Number, "number"), (Operator, "sign"), (Punctuation, "sign"), (Error, "error")]
    lexer = SialLexer()

    def tokens_of(text):
        out = []
        for start, token, value in lexer.get_tokens_unprocessed(text):
            if token is not Whitespace:
                line = len(compiler_tokens.lines_of(text[:start] + "x"))
                out.append((line, next(kind for group, kind in kinds if token in group), value))
        return out

    odd = 'sial a\nx = "open\ny = 1 ! 2 § 3\nin.do = 1.do\nendsial a'
    found = [(kind, text) for _, kind, text in tokens_of(odd)]
    assert [t for t in found if t[0] == "error"] == [("error", '"open'), ("error", "!"), ("error", "§")], found
    assert ("name", "in.do") in found and found[-4:-2] == [("number", "1."), ("keyword", "do")], found
    compare(sialc, tokens_of)


BLANKS = re.compile(r"[ \t\f]*")


class TextMate:
    """As far as the grammar goes: one level of `match` rules; the leftmost match wins, then the first rule."""

    SCOPES = {"comment": "comment", "string": "string", "keyword.operator.word": "keyword", "keyword.operator": "sign", "keyword": "keyword", "storage": "keyword", "entity.name": "name",
              "support.function": "name", "variable": "name", "constant.other.signature": "name", "constant.numeric": "number", "punctuation.sial": "sign", "invalid.deprecated": "keyword", "invalid": "error"}

    def __init__(self):
        grammar = json.loads((EDITORS / "vscode" / "syntaxes" / "sial.tmLanguage.json").read_text())
        self.rules = []
        for rule in grammar["patterns"]:
            assert set(rule) <= {"match", "name", "captures"}, rule
            self.rules.append((re.compile(rule["match"]), rule.get("name"), {int(n): c["name"] for n, c in rule.get("captures", {}).items()}))
        assert not any(expression.match(blank) for expression, _, _ in self.rules for blank in " \t\f")
        self.expressions = [rule["match"] for rule in grammar["patterns"]]

    def kind(self, scope):
        return next(kind for start, kind in self.SCOPES.items() if scope.startswith(start))

    def line(self, number, line):
        at, out = 0, []
        while match := BLANKS.match(line, at):
            at = match.end()
            if at == len(line):
                break
            # The last rule takes any character, so the leftmost match of all begins here.
            i, match = next((i, m) for i, (expression, _, _) in enumerate(self.rules) if (m := expression.match(line, at)))
            assert match.end() > at, "an empty match"
            _, name, captures = self.rules[i]
            if name:
                out.append((number, self.kind(name), match[0]))
            else:
                out += [(number, self.kind(captures[n]), match[n]) for n in sorted(captures) if match[n]]
            at = match.end()
        return out

    def tokens_of(self, text):
        return [token for number, line in enumerate(compiler_tokens.lines_of(text), 1) for token in self.line(number, line)]


def textmate(sialc):
    engine = TextMate()
    try:
        import onigurumacffi
        for expression in engine.expressions:  # of VS Code's engine
            onigurumacffi.compile(expression)
        print(f"{len(engine.expressions)} expressions compiled by Oniguruma")
    except ImportError:
        print("without Oniguruma: the expressions were tried with Python's only")
    compare(sialc, engine.tokens_of)


def files(sialc):
    done = subprocess.run([sys.executable, str(EDITORS / "generate_editors.py"), "--check"], capture_output=True, text=True)
    print(done.stdout, end="")
    failed = done.returncode != 0
    listed = subprocess.run([str(sialc), "--list-instructions"], capture_output=True, text=True, check=True).stdout
    if sorted(line.split()[0] for line in listed.splitlines()) != generate_editors.super_instructions():
        failed = True
        print("sialc --list-instructions has other names than the generator found")
    manual = (ROOT / "grammar" / "README.md").read_text().split("**Keywords**")[1].split("**Limits**")[0]
    named = {w for quoted in re.findall(r"`([^`]+)`", manual) for w in quoted.split()}
    if named != set(generate_editors.lexer_keywords()):
        failed = True
        print(f"the manual names other keywords than the lexer: {sorted(named ^ set(generate_editors.lexer_keywords()))}")
    for path, text in generate_editors.generated().items():
        there = set(re.findall(r"\w+", text))
        missing = {w for name, group in generate_editors.words().items() for w in group} - there
        if path.suffix in (".js", ".scm"):  # reserved words and super instructions are names there
            missing -= set(generate_editors.words()["super"]) | set(generate_editors.words()["reserved"]) | set(generate_editors.words()["inspection"])
        if missing:
            failed = True
            print(f"{path.relative_to(ROOT)}: lacks {sorted(missing)}")
    sys.exit(1 if failed else 0)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["pygments", "textmate", "files"])
    options = parser.parse_args()
    {"pygments": pygments, "textmate": textmate, "files": files}[options.what](BIN / "sialc")


if __name__ == "__main__":
    main()
