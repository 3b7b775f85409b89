"""Follows the report's advice about orders of indices by hand: rewrites copies of a job's sources, independently of the compiler."""
from __future__ import annotations

import pathlib
import re
from collections.abc import Iterable, Sequence
from typing import Any


def permuted(text: str, array: str, order: Sequence[int]) -> str:
    """The source with each `array[...]` in its new order; comments stay."""
    pattern = re.compile(rf"(?<![\w@]){re.escape(array)}(\s*)\[([^\]]*)\]", re.I)

    def swap(match: re.Match[str]) -> str:
        parts = [p.strip() for p in match.group(2).split(",")]
        assert len(parts) == len(order), f"{match.group(0)} has not {len(order)} indices"
        return f"{array}{match.group(1)}[{','.join(parts[k] for k in order)}]"

    lines = []
    for line in text.split("\n"):
        code, mark, comment = line.partition("#")
        lines.append(pattern.sub(swap, code) + mark + comment)
    return "\n".join(lines)


class SourceTree:
    """Copies of a job's programs with all that they import, at places that imports still lead to."""

    def __init__(self, root: str | pathlib.Path, to: str | pathlib.Path, programs: Iterable[str | pathlib.Path]) -> None:
        self.root, self.to, self.programs = pathlib.Path(root), pathlib.Path(to), [pathlib.Path(p).resolve() for p in programs]
        self.files: dict[pathlib.Path, str] = {}
        for program in self.programs:
            self.add(program)
        self.write()

    def add(self, path: pathlib.Path) -> None:
        if path in self.files:
            return
        self.files[path] = path.read_text()
        for name in re.findall(r'^\s*import\s+"([^"]+)"', self.files[path], re.M):
            self.add((path.parent / name).resolve())

    def place(self, path: pathlib.Path) -> pathlib.Path:
        return self.to / path.relative_to(self.root)

    def write(self) -> None:
        for path, text in self.files.items():
            self.place(path).parent.mkdir(parents=True, exist_ok=True)
            self.place(path).write_text(text)

    def apply(self, redeclarations: Sequence[dict[str, Any]]) -> None:
        """All files: one that several programs import is changed once."""
        for array, order in {(r["array"], tuple(r["order"])) for r in redeclarations}:
            programs = {r["program"] for r in redeclarations if r["array"] == array}
            for path in self.files_of(programs):
                self.files[path] = permuted(self.files[path], array, order)
        self.write()

    def files_of(self, programs: Iterable[str]) -> set[pathlib.Path]:
        found: set[pathlib.Path] = set()
        for path in self.programs:
            if re.search(rf"^\s*sial\s+({'|'.join(programs)})\b", self.files[path], re.M | re.I):
                found |= self.with_imports(path)
        return found

    def with_imports(self, path: pathlib.Path) -> set[pathlib.Path]:
        found = {path}
        for name in re.findall(r'^\s*import\s+"([^"]+)"', self.files[path], re.M):
            found |= self.with_imports((path.parent / name).resolve())
        return found

    def job_programs(self) -> list[pathlib.Path]:
        return [self.place(p) for p in self.programs]
