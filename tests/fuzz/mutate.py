"""Mutators: from an input that is right to one that is nearly right. All take a random.Random, so that a case can be made again."""
import json
import random
import re
import struct
from collections.abc import Callable, Sequence
from typing import Any

Record = tuple[int, bytes, bytes]  # type, head, doubles

NUMBERS = ["0", "-1", "1", "2", "7.4D-1", "1,74", "0.7.4", "1e999", "-1e-999", "nan", "inf", "0x10", "2147483647", "2147483648", "-2147483649", "9223372036854775808",
           "99999999999999999999", "1.", ".5", "+3", "", "1e", "--1", "1_000"]
NAMES = ["../outside", "../../outside", "/dev/zero", "/dev/null", "/etc/passwd", "/", ".", "..", "a/b", "a%2Fb", "%", "x" * 500, "\x1b[31m", "a\nb", "a\x00b", "\x7f", "\u009b1m", "",
         "none", "caf\u00e9", "-O2", "--batch", "*", "~"]
WORDS = ["pardo", "endpardo", "do", "enddo", "if", "endif", "else", "where", "exit", "get", "put", "+=", "-=", "*=", "=", "*", "^", "call", "proc", "endproc", "return", "sial", "endsial", "temp",
         "local", "static", "distributed", "served", "contiguous", "sparse", "predefined", "scalar", "int", "index", "aoindex", "moindex", "moaindex", "subindex", "special", "execute",
         "create", "delete", "allocate", "deallocate", "collective", "server_barrier", "sip_barrier", "set_persistent", "restore_persistent", "print", "println", "stop", "section",
         "endsection", "import", "of", "in", "(index)", "(", ")", "[", "]", ",", ":", "<", "<=", "==", "!=", '"', "#", "@", "\\", "1.0", "sqrt"]
PIECES = re.compile(r"[A-Za-z_][A-Za-z_0-9.]*|[0-9][0-9.eEdD+-]*|\s+|\"[^\"\n]*\"|.", re.S)


def mutate_bytes(rng: random.Random, data: bytes, others: list[bytes]) -> bytes:
    """Bits, bytes, numbers of 4 and 8 bytes, pieces that are cut, doubled, moved or taken from another input."""
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 4, 16))):
        at = rng.randrange(len(changed) + 1)
        kind = rng.randrange(8)
        if kind == 0 and at < len(changed):
            changed[at] ^= 1 << rng.randrange(8)
        elif kind == 1 and at < len(changed):
            changed[at] = rng.randrange(256)
        elif kind == 2 and at + 8 <= len(changed):
            width = rng.choice((4, 8))
            at -= at % rng.choice((1, width))
            value = rng.choice((0, 1, -1, 2**31 - 1, -2**31, 2**16, len(changed), rng.randrange(-2**31, 2**31)))
            changed[at:at + width] = value.to_bytes(width, rng.choice(("little", "big")), signed=True)
        elif kind == 3:
            del changed[at:at + rng.choice((1, 4, 64))]
        elif kind == 4:
            changed[at:at] = bytes(rng.randrange(256) for _ in range(rng.choice((1, 4, 8))))
        elif kind == 5:
            begin = rng.randrange(len(changed) + 1)
            changed[at:at] = changed[begin:begin + rng.choice((4, 16, 256))]
        elif kind == 6:
            other = rng.choice(others)
            begin = rng.randrange(len(other) + 1)
            changed[at:at + 16] = other[begin:begin + 16]
        elif rng.randrange(4) == 0:
            del changed[at:]
    return bytes(changed)


def mutate_text(rng: random.Random, data: bytes, others: list[bytes], words: Sequence[str] = ()) -> bytes:
    """Words and lines: numbers that are odd, names that lead elsewhere, lines that are missing, doubled, moved or of another input."""
    pieces = PIECES.findall(data.decode("utf-8", "surrogateescape"))
    names = [p for p in pieces if p[0].isalpha()] or ["x"]
    for _ in range(rng.choice((1, 1, 1, 2, 3, 6))):
        pieces = [p for p in pieces if p]
        if not pieces:
            break
        at = rng.randrange(len(pieces))
        kind = rng.randrange(9)
        if kind == 0:
            at = rng.choice([k for k, p in enumerate(pieces) if p[0].isdigit()] or [at])
            pieces[at] = rng.choice(NUMBERS)
        elif kind == 1:
            at = rng.choice([k for k, p in enumerate(pieces) if p[0] == '"'] or [at])
            pieces[at] = '"' + rng.choice(NAMES) + '"'
        elif kind == 2:
            at = rng.choice([k for k, p in enumerate(pieces) if p[0].isalpha()] or [at])
            pieces[at] = rng.choice(names)
        elif kind == 3:
            pieces[at] = rng.choice(tuple(words) or NAMES)
        elif kind == 4:
            del pieces[at]
        elif kind == 5:
            pieces.insert(at, rng.choice(tuple(words) + (" ", "\n", "\t", "\r", "\x00", "\x1b", "\u00e9", "\udcff")))
        else:
            pieces = PIECES.findall(move_lines(rng, "".join(pieces), others))
    return "".join(pieces).encode("utf-8", "surrogateescape")


def move_lines(rng: random.Random, text: str, others: list[bytes]) -> str:
    lines = text.split("\n")
    begin = rng.randrange(len(lines))
    some = lines[begin:begin + rng.choice((1, 1, 2, 5))]
    kind = rng.randrange(4)
    if kind == 0:
        del lines[begin:begin + len(some)]
    elif kind == 1:
        at = rng.randrange(len(lines) + 1)
        lines[at:at] = some * rng.choice((1, 2, 30))
    elif kind == 2:
        del lines[begin:begin + len(some)]
        at = rng.randrange(len(lines) + 1)
        lines[at:at] = some
    else:
        theirs = rng.choice(others).decode("utf-8", "surrogateescape").split("\n")
        from_ = rng.randrange(len(theirs))
        lines[begin:begin] = theirs[from_:from_ + rng.choice((1, 2, 5))]
    return "\n".join(lines)


def mutate_source(rng: random.Random, data: bytes, others: list[bytes]) -> bytes:
    """A SIAL program: statements and blocks of statements go elsewhere, names and words are exchanged."""
    text = data.decode("utf-8", "surrogateescape")
    lines = text.split("\n")
    if rng.randrange(3) == 0:
        # A block with its end, once more or elsewhere: what is nested stays closed.
        opens = [k for k, line in enumerate(lines) if re.match(r"\s*(do|pardo|if|section|proc)\b", line)]
        if opens:
            begin, depth = rng.choice(opens), 0
            for end in range(begin, len(lines)):
                depth += bool(re.match(r"\s*(do|pardo|if|section|proc)\b", lines[end])) - bool(re.match(r"\s*end", lines[end]))
                if depth <= 0:
                    break
            block = lines[begin:end + 1]
            if rng.randrange(2):
                del lines[begin:end + 1]
            at = rng.randrange(len(lines) + 1)
            lines[at:at] = block
            return "\n".join(lines).encode("utf-8", "surrogateescape")
    return mutate_text(rng, data, others, WORDS)


def mutate_json(rng: random.Random, data: bytes, others: list[bytes]) -> bytes:
    """A value somewhere in a JSON document becomes another; sometimes the text itself is changed."""
    if rng.randrange(4) == 0:
        return mutate_text(rng, data, others)
    document = json.loads(data)
    places = []

    def collect(node: Any) -> None:
        items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
        for key, value in list(items):
            places.append((node, key))
            collect(value)

    collect(document)
    for _ in range(rng.choice((1, 1, 2, 4))):
        if not places:
            break
        node, key = rng.choice(places)
        value: Any = rng.choice((None, True, 0, -1, 1.5, 2**31, 2**63, 1e308, "", [], {}, [1, 2, 3], rng.choice(NAMES), rng.choice(NUMBERS)))
        if isinstance(node, list):
            if key < len(node):
                node[key] = value
        elif rng.randrange(4) == 0:
            node[rng.choice(NAMES)] = node.pop(key, value)
        else:
            node[key] = value
    return json.dumps(document).encode()


def mutate_options(rng: random.Random, data: bytes, others: list[bytes]) -> bytes:
    """One line of options: keys, values and separators."""
    return mutate_text(rng, data, others, (",", "=", "ranks", "seed", "latency", "bandwidth", "us", "GB/s", "servers", "ranks-per-node", *NUMBERS)).replace(b"\x00", b"").replace(b"\n", b"")


# --- what a checkpoint holds, sealed again: the content is wrong, not its hash

ALL = 2**64 - 1
RECORD = struct.Struct("<IIQQQ")  # mark, type, bytes of the head, doubles, hash


def mix(h: int, v: int) -> int:
    h ^= (v + 0x9e3779b97f4a7c15 + (h << 6) + (h >> 2)) & ALL
    h ^= h >> 31
    return h * 0xbf58476d1ce4e5b9 & ALL


def hash_bytes(seed: int, data: bytes) -> int:
    lanes, whole = [seed + k & ALL for k in range(4)], len(data) // 32 * 32
    for at in range(0, whole, 32):
        lanes = [mix(h, w) for h, w in zip(lanes, struct.unpack_from("<4Q", data, at))]
    rest = struct.unpack("<4Q", data[whole:].ljust(32, b"\0"))
    h = mix(seed, len(data))
    for lane, word in zip(lanes, rest):
        h = mix(mix(h, lane), word)
    return h


def sealed_index(document: Any) -> bytes:
    document.pop("hash", None)
    h = 0x5a11
    for byte in json.dumps(document, indent=1, ensure_ascii=False).encode("utf-8", "replace"):
        h = mix(h, byte)
    return json.dumps({**document, "hash": f"{h:016x}"}, indent=1, ensure_ascii=False).encode("utf-8", "replace") + b"\n"


def mutate_sealed_index(rng: random.Random, data: bytes, others: list[bytes]) -> bytes:
    changed = mutate_json(rng, data, others)
    try:
        document = json.loads(changed)
        if rng.randrange(3) == 0:
            rng.choice(document["files"])["name"] = rng.choice(NAMES)
        return sealed_index(document)
    except (ValueError, TypeError, KeyError, IndexError):
        return changed


def records_of(data: bytes) -> list[Record]:
    """(type, head, doubles as bytes) of each record."""
    at, found = 0, []
    while at < len(data):
        _, kind, head, doubles, _ = RECORD.unpack_from(data, at)
        at += RECORD.size
        found.append((kind, data[at:at + head], data[at + head:at + head + 8 * doubles]))
        at += head + 8 * doubles
    return found


def sealed_records(records: list[Record]) -> tuple[bytes, int]:
    """The file's bytes, and the hash that the index has of it."""
    data, seal = b"", 0
    for kind, head, doubles in records:
        h = mix(RECORD_MARK, kind)
        h = mix(mix(h, len(head)), len(doubles) // 8)
        h = hash_bytes(hash_bytes(h, head), doubles)
        data += RECORD.pack(RECORD_MARK, kind, len(head), len(doubles) // 8, h) + head + doubles
        seal = mix(seal, h)
    return data, seal


RECORD_MARK = 0x78C5A11B


def mutate_records(rng: random.Random, seed: dict[str, bytes]) -> dict[str, bytes]:
    """`seed`: the index and the file of its only rank, by name. Words, sizes, kinds and the order of the records change."""
    index_name, file_name = seed
    records = records_of(seed[file_name])
    for _ in range(rng.choice((1, 1, 2, 3))):
        at = rng.randrange(len(records))
        kind, head, doubles = records[at]
        what = rng.randrange(8)
        if what < 4 and len(head) >= 4:
            width = rng.choice((4, 8))
            begin = rng.randrange(len(head) // 4) * 4
            value = rng.choice((0, 1, 2, 3, -1, 7, 100, 2**31 - 1, -2**31, rng.randrange(64)))
            head = (head[:begin] + value.to_bytes(width, "little", signed=True) + head[begin + width:])[:len(head)]
            records[at] = (kind, head, doubles)
        elif what == 4:
            records[at] = (rng.choice((1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 99)), head, doubles)
        elif what == 5:
            records[at] = (kind, mutate_bytes(rng, head, [head]), doubles)
        elif what == 6:
            records[at] = (kind, head, rng.choice((doubles + doubles, doubles[8:], doubles + bytes(8))))
        elif rng.randrange(2) and len(records) > 1:
            del records[at]
        else:
            records.insert(rng.randrange(len(records) + 1), records[at])
    data, seal = sealed_records(records)
    document = json.loads(seed[index_name])
    document["files"][0].update(bytes=len(data), hash=f"{seal:016x}")
    return {index_name: sealed_index(document), file_name: data}


# --- names in initial-data files

ODD_NAMES = NAMES + ["x" * 70000, "a/" * 3000 + "b", "/tmp/outside", "../" * 40 + "etc/passwd", "saved.siox/../../outside", "..siox", ".siox", "\x07", "a\tb", "a\rb", "\x00", "con\x00.siox",
                     "results.h5", "job.dat", "checkpoint", "saved.sialx ", "'", "1_x"]


def packed_dat(document: Any) -> bytes:
    """The binary form of a document in the JSON form."""
    def integer(x: Any) -> bytes:
        return struct.pack("<i", x)

    def text(x: Any) -> bytes:
        data = x.encode("utf-8", "surrogateescape") + b"\0"
        return integer(len(data)) + data

    def listed(items: Any, pack: Callable[[Any], bytes]) -> bytes:
        return integer(len(items)) + b"".join(pack(x) for x in items)

    def array(code: str) -> Callable[[Any], bytes]:
        return lambda item: text(item[0]) + integer(item[1]["Rank"]) + listed(item[1]["Dims"], integer) + listed(item[1]["Data"], lambda x: struct.pack(code, x))

    return b"".join((
        integer(23121991), integer(1), listed(document["SialPrograms"], text),
        listed(document["PredefinedIntegers"].items(), lambda i: text(i[0]) + integer(i[1])),
        listed(document["PredefinedScalars"].items(), lambda i: text(i[0]) + struct.pack("<d", i[1])),
        listed(document["SegmentSizeArrays"].items(), lambda i: integer(int(i[0])) + listed(i[1], integer)),
        listed(document["PredefinedScalarArrays"].items(), array("<d")), listed(document["PredefinedIntegerArrays"].items(), array("<i")),
        listed(document["SialConfiguration"].items(), lambda i: text(i[0]) + listed(i[1].items(), lambda p: text(p[0]) + text(p[1])))))


def mutate_dat_names(rng: random.Random, data: bytes, others: list[bytes]) -> bytes:
    document = json.loads(data)
    for _ in range(rng.choice((1, 1, 2, 4))):
        section = rng.choice(list(document))
        if section == "SialPrograms":
            document[section][rng.randrange(len(document[section]))] = rng.choice(ODD_NAMES)
        elif section != "SegmentSizeArrays" and document[section]:
            name = rng.choice(list(document[section]))
            document[section][rng.choice(ODD_NAMES)] = document[section].pop(name)
    return packed_dat(document)


def mutate_labels(rng: random.Random, data: bytes, others: list[bytes]) -> bytes:
    """Bytes of the labels in a module: what becomes a name in the results file."""
    changed = bytearray(data)
    for label in (b"the array", b"energy"):
        at = changed.find(label)
        if at >= 0:
            for _ in range(rng.choice((0, 1, 1, 3))):
                changed[at + rng.randrange(len(label))] = rng.choice(b"/%.\0\x01\x1b\x7f\xff'A ")
    return bytes(changed)
