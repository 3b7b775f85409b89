#!/usr/bin/env python3
"""The tree-sitter grammar without tree-sitter: LALR(1) tables are made of it, conflicts that its precedences do not settle are errors, and every
example is parsed with them. The queries name rules, fields and words that there are.

    run_tree_sitter.py --bin DIR
"""
from __future__ import annotations

import json
import pathlib
import re
import shutil
import subprocess
import sys
from collections import defaultdict
from typing import Any

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from harness import BIN, SKIPPED

HERE = pathlib.Path(__file__).resolve().parent
TREE_SITTER = HERE.parents[1] / "grammar" / "editors" / "tree-sitter"
sys.path.insert(0, str(HERE))

import compiler_tokens  # noqa: E402

END = "$end"
TERMINALS = {"identifier", "real", "integer", "string", "_newline"}

Production = tuple[str, tuple[str, ...], int, str]  # left side, right side, precedence, associativity
Item = tuple[int, int]


class Grammar:
    """Rules without repetitions and options: productions of symbols; a word in quotes is a terminal."""

    def __init__(self, description: dict[str, Any]) -> None:
        self.productions: list[Production] = [("$start", ("source_file",), 0, "")]
        self.fresh = 0
        for name, rule in description["rules"].items():
            if name not in TERMINALS | {"comment"}:
                for symbols, rank, side in self.expand(rule):
                    self.productions.append((name, symbols, rank, side))
        self.of: dict[str, list[int]] = defaultdict(list)
        for i, production in enumerate(self.productions):
            self.of[production[0]].append(i)

    def expand(self, rule: dict[str, Any]) -> list[tuple[tuple[str, ...], int, str]]:
        kind = rule["type"]
        if kind == "SYMBOL":
            return [((rule["name"],), 0, "")]
        if kind == "STRING":
            return [((f'"{rule["value"]}"',), 0, "")]
        if kind == "BLANK":
            return [((), 0, "")]
        if kind == "ALIAS":  # of a keyword
            assert re.fullmatch(r"(\[\w\w\]|_)+", rule["content"]["value"]), rule
            return [((f'"{rule["value"]}"',), 0, "")]
        if kind == "FIELD":
            return self.expand(rule["content"])
        if kind == "CHOICE":
            return [way for member in rule["members"] for way in self.expand(member)]
        if kind == "SEQ":
            ways: list[tuple[tuple[str, ...], int, str]] = [((), 0, "")]
            for member in rule["members"]:
                ways = [(a + b, r or s, x or y) for a, r, x in ways for b, s, y in self.expand(member)]
            return ways
        if kind.startswith("PREC"):
            side = {"PREC_LEFT": "left", "PREC_RIGHT": "right"}.get(kind, "")
            return [(symbols, rule["value"], side) for symbols, _, _ in self.expand(rule["content"])]
        assert kind in ("REPEAT", "REPEAT1"), rule
        self.fresh += 1
        name = f"$repeat{self.fresh}"
        for symbols, _, _ in self.expand(rule["content"]):
            self.productions += [(name, symbols, 0, ""), (name, (name, *symbols), 0, "")]
        return [((name,), 0, "")] + ([((), 0, "")] if kind == "REPEAT" else [])


class Tables:
    def __init__(self, grammar: Grammar) -> None:
        self.grammar = grammar
        self.productions = grammar.productions
        self.nullable: set[str] = set()
        self.first: dict[str, set[str]] = defaultdict(set)
        self.find_first()
        self.conflicts: list[str] = []
        self.build()

    def find_first(self) -> None:
        changed = True
        while changed:
            changed = False
            for left, right, _, _ in self.productions:
                before = len(self.first[left]), left in self.nullable
                for symbol in right:
                    self.first[left] |= self.first[symbol] if symbol in self.grammar.of else {symbol}
                    if symbol not in self.nullable:
                        break
                else:
                    self.nullable.add(left)
                changed = changed or before != (len(self.first[left]), left in self.nullable)

    def first_of(self, symbols: tuple[str, ...], ahead: set[str]) -> set[str]:
        out: set[str] = set()
        for symbol in symbols:
            out |= self.first[symbol] if symbol in self.grammar.of else {symbol}
            if symbol not in self.nullable:
                return out
        return out | ahead

    def closure(self, kernel: dict[Item, set[str]]) -> dict[Item, set[str]]:
        items = {item: set(ahead) for item, ahead in kernel.items()}
        work = list(items)
        while work:
            production, dot = item = work.pop()
            right = self.productions[production][1]
            if dot < len(right) and right[dot] in self.grammar.of:
                ahead = self.first_of(right[dot + 1:], items[item])
                for other in self.grammar.of[right[dot]]:
                    known = items.setdefault((other, 0), set())
                    if not ahead <= known or not known:
                        known |= ahead
                        work.append((other, 0))
        return items

    def build(self) -> None:
        states: list[dict[Item, set[str]]] = [{(0, 0): {END}}]
        number = {frozenset(states[0]): 0}
        self.goto: list[dict[str, int]] = [{}]
        work = [0]
        while work:
            state = work.pop()
            moves: dict[str, dict[Item, set[str]]] = defaultdict(dict)
            for (production, dot), ahead in self.closure(states[state]).items():
                right = self.productions[production][1]
                if dot < len(right):
                    moves[right[dot]].setdefault((production, dot + 1), set()).update(ahead)
            for symbol, kernel in moves.items():
                key = frozenset(kernel)
                target = number.setdefault(key, len(states))
                if target == len(states):
                    states.append(kernel)
                    self.goto.append({})
                    work.append(target)
                else:
                    grown = False
                    for item, ahead in kernel.items():
                        grown = grown or not ahead <= states[target][item]
                        states[target][item] |= ahead
                    if grown:
                        work.append(target)
                self.goto[state][symbol] = target
        self.reduce: list[dict[str, int]] = [self.decide(i, self.closure(kernel)) for i, kernel in enumerate(states)]

    def decide(self, state: int, items: dict[Item, set[str]]) -> dict[str, int]:
        """What to reduce on which terminal. Shifts that lose to a reduction are taken away."""
        reductions: dict[str, int] = {}
        for (production, dot), ahead in items.items():
            left, right, rank, side = self.productions[production]
            if dot < len(right):
                continue
            for terminal in ahead:
                if terminal in reductions and reductions[terminal] != production:
                    self.conflicts.append(f"{left} or {self.productions[reductions[terminal]][0]} before {terminal}")
                if terminal in self.goto[state]:
                    shifted = [self.productions[p][2] for p, d in items if d < len(self.productions[p][1]) and d > 0 and self.productions[p][1][d] == terminal]
                    other = max(shifted, default=0)
                    if rank > other or (rank == other and side == "left" and shifted):
                        del self.goto[state][terminal]
                    elif rank < other or side == "right":
                        continue
                    else:
                        self.conflicts.append(f"{left} ends, or goes on with {terminal}")
                reductions[terminal] = production
        return reductions

    def parse(self, tokens: list[str]) -> str:
        """Empty, or what stands where it may not."""
        stack, at = [0], 0
        while True:
            token = tokens[at] if at < len(tokens) else END
            state = stack[-1]
            if token in self.goto[state]:
                stack.append(self.goto[state][token])
                at += 1
            elif (production := self.reduce[state].get(token)) is not None:
                if production == 0:
                    return ""
                left, right, _, _ = self.productions[production]
                if right:
                    del stack[-len(right):]
                stack.append(self.goto[stack[-1]][left])
            else:
                return f"token {at}: {' '.join(tokens[max(0, at - 8):at + 1])}"


def tokens_for(text: str, tokens: list[compiler_tokens.Token]) -> list[str]:
    out, line = [], 1
    names = {"name": lambda w: "identifier", "string": lambda w: "string", "number": lambda w: "real" if "." in w else "integer"}
    for number, kind, written in [*tokens, (len(compiler_tokens.lines_of(text)), "comment", "")]:
        out += ["_newline"] * (number - line)
        line = number
        if kind != "comment":
            out.append(names.get(kind, lambda w: f'"{w.lower()}"')(written))
    return out


def check_queries(description: dict[str, Any], productions: list[Production]) -> list[str]:
    query = re.sub(r";.*", "", (TREE_SITTER / "queries" / "highlights.scm").read_text())
    text = json.dumps(description["rules"])
    there = set(description["rules"])
    words = {symbol.strip('"') for _, right, _, _ in productions for symbol in right if symbol.startswith('"')}
    found = [f"highlights.scm: no rule {name}" for name in re.findall(r"\(([a-z_]+)", query) if name not in there]
    found += [f"highlights.scm: no field {name}" for name in re.findall(r"([a-z_]+):", query) if f'"name": "{name}"' not in text]
    return found + [f"highlights.scm: no word {word}" for word in re.findall(r'"([^"]+)"', query) if word not in words]


def main() -> None:
    sialc = BIN / "sialc"
    node = shutil.which("node") or shutil.which("nodejs")
    if node is None:
        print("skipped: there is no node")
        sys.exit(SKIPPED)
    description = json.loads(subprocess.run([node, str(HERE / "tree_sitter_rules.js"), str(TREE_SITTER / "grammar.js")], check=True, capture_output=True, text=True).stdout)
    tables = Tables(Grammar(description))
    failures = sorted(set(tables.conflicts)) + check_queries(description, tables.productions)
    count = 0
    inputs = list(compiler_tokens.valid(sialc))
    messages = subprocess.run([str(sialc), "format", "--check", *(str(path) for path, _, _ in inputs)], capture_output=True, text=True).stderr
    refused = {line.split(":")[0] for line in messages.splitlines() if re.match(r"[^ ]+:\d+:\d+: error: ", line)}
    for path, text, tokens in inputs:
        syntax = str(path) in refused
        problem = tables.parse(tokens_for(text, tokens))
        count += not syntax
        if problem and not syntax:
            failures.append(f"{path}: {problem}")
    print(*failures[:40], sep="\n")
    print(f"{len(tables.goto)} states, {count} programs, {len(failures)} failures")
    sys.exit(1 if failures or count < 500 else 0)


if __name__ == "__main__":
    main()
