"""The programs of the repository and what sialc says of their tokens."""
from __future__ import annotations

import pathlib
import re
import subprocess
import tempfile
from collections.abc import Iterator

ROOT = pathlib.Path(__file__).resolve().parents[2]
KINDS = {"IDENT": "name", "STRING": "string", "DOUBLE": "number", "INTEGER": "number", "UNTERMINATED_STRING": "error", "UNKNOWN": "error"}
SIGNS = {"PLUS_ASSIGN", "MINUS_ASSIGN", "STAR_ASSIGN", "POW", "EQ", "NE", "LE", "GE", "LT", "GT", "ASSIGN", "PLUS", "MINUS", "STAR", "SLASH", "CARET", "LPAREN", "RPAREN", "LBRACK", "RBRACK",
         "COMMA", "COLON"}
MARK, BATCH = "between two programs", 100

Token = tuple[int, str, str]  # line from 1, kind (keyword, name, string, number, sign, comment, error), text


def paths(*folders: str) -> list[pathlib.Path]:
    return sorted(p for folder in folders for p in (ROOT / folder).rglob("*.sialx") if not p.is_symlink())


def lines_of(text: str) -> list[str]:
    return re.split(r"\r\n|\r|\n", text)


def listings(sialc: pathlib.Path, files: list[pathlib.Path]) -> list[str]:
    """Of sialc --emit=tokens, one for each file. One process lists many: a file with nothing but a string stands between two."""
    out: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        between = pathlib.Path(folder) / "between.sialx"
        between.write_text(f'"{MARK}"')
        for i in range(0, len(files), BATCH):
            arguments = [str(p) for file in files[i:i + BATCH] for p in (file, between)]
            listed = subprocess.run([str(sialc), "--emit=tokens", *arguments], capture_output=True, check=True).stdout.decode()
            out += listed.split(f'1:1\tSTRING\t"{MARK}"\n')[:-1]
    assert len(out) == len(files)
    return out


def compiler_tokens(text: str, listing: str) -> list[Token]:
    """Those of the listing, in the order of the text, and the comments, which are what is left."""
    places: dict[int, list[tuple[str, str]]] = {}
    for row in listing.split("\n")[:-1]:
        place, kind, *shown = row.split("\t", 2)
        if kind != "NL":
            places.setdefault(int(place.split(":")[0]), []).append((KINDS.get(kind, "sign" if kind in SIGNS else "keyword"), shown[0]))
    if any(kind == "error" for row in places.values() for kind, _ in row):  # shown in another spelling
        return [(1, "error", "")]
    out: list[Token] = []
    for number, line in enumerate(lines_of(text), 1):
        rest = 0
        for kind, written in places.get(number, []):
            rest = line.index(written, rest) + len(written)
            out.append((number, kind, written))
        if (hash_at := line.find("#", rest)) >= 0:
            out.append((number, "comment", line[hash_at:]))
    return out


def valid(sialc: pathlib.Path, folders: tuple[str, ...] = ("examples", "tests")) -> Iterator[tuple[pathlib.Path, str, list[Token]]]:
    """Every program all of whose tokens are tokens: path, text, tokens."""
    texts = {}
    for path in paths(*folders):
        try:
            text = path.read_bytes().decode()
        except UnicodeDecodeError:
            continue
        if not any(ord(c) < 32 and c not in "\t\f\r\n" for c in text):
            texts[path] = text.removeprefix("\ufeff")
    for (path, text), listing in zip(texts.items(), listings(sialc, list(texts)), strict=True):
        tokens = compiler_tokens(text, listing)
        if all(kind != "error" for _, kind, _ in tokens):
            yield path, text, tokens


def differences(path: pathlib.Path, wanted: list[Token], found: list[Token]) -> list[str]:
    if wanted == found:
        return []
    at = next((i for i, pair in enumerate(zip(wanted, found)) if pair[0] != pair[1]), min(len(wanted), len(found)))
    return [f"{path.relative_to(ROOT)}: sialc has {wanted[at:at + 3]}, the highlighting {found[at:at + 3]}"]
