"""Mutators: from an input that is right to one that is nearly right. All take a random.Random, so that a case can be made again."""
import json
import re

NUMBERS = ["0", "-1", "1", "2", "7.4D-1", "1,74", "0.7.4", "1e999", "-1e-999", "nan", "inf", "0x10", "2147483647", "2147483648", "-2147483649", "9223372036854775808",
           "99999999999999999999", "1.", ".5", "+3", "", "1e", "--1", "1_000"]
NAMES = ["../outside", "../../outside", "/dev/zero", "/dev/null", "/etc/passwd", "/", ".", "..", "a/b", "a%2Fb", "%", "x" * 500, "\x1b[31m", "a\nb", "a\x00b", "\x7f", "\u009b1m", "",
         "none", "caf\u00e9", "-O2", "--batch", "*", "~"]
WORDS = ["pardo", "endpardo", "do", "enddo", "if", "endif", "else", "where", "exit", "get", "put", "+=", "-=", "*=", "=", "*", "^", "call", "proc", "endproc", "return", "sial", "endsial", "temp",
         "local", "static", "distributed", "served", "contiguous", "sparse", "predefined", "scalar", "int", "index", "aoindex", "moindex", "moaindex", "subindex", "special", "execute",
         "create", "delete", "allocate", "deallocate", "collective", "server_barrier", "sip_barrier", "set_persistent", "restore_persistent", "print", "println", "stop", "section",
         "endsection", "import", "of", "in", "(index)", "(", ")", "[", "]", ",", ":", "<", "<=", "==", "!=", '"', "#", "@", "\\", "1.0", "sqrt"]
PIECES = re.compile(r"[A-Za-z_][A-Za-z_0-9.]*|[0-9][0-9.eEdD+-]*|\s+|\"[^\"\n]*\"|.", re.S)


def mutate_bytes(rng, data, others):
    """Bits, bytes, numbers of 4 and 8 bytes, pieces that are cut, doubled, moved or taken from another input."""
    data = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 4, 16))):
        at = rng.randrange(len(data) + 1)
        kind = rng.randrange(8)
        if kind == 0 and at < len(data):
            data[at] ^= 1 << rng.randrange(8)
        elif kind == 1 and at < len(data):
            data[at] = rng.randrange(256)
        elif kind == 2 and at + 8 <= len(data):
            width = rng.choice((4, 8))
            at -= at % rng.choice((1, width))
            value = rng.choice((0, 1, -1, 2**31 - 1, -2**31, 2**16, len(data), rng.randrange(-2**31, 2**31)))
            data[at:at + width] = value.to_bytes(width, rng.choice(("little", "big")), signed=True)
        elif kind == 3:
            del data[at:at + rng.choice((1, 4, 64))]
        elif kind == 4:
            data[at:at] = bytes(rng.randrange(256) for _ in range(rng.choice((1, 4, 8))))
        elif kind == 5:
            begin = rng.randrange(len(data) + 1)
            data[at:at] = data[begin:begin + rng.choice((4, 16, 256))]
        elif kind == 6:
            other = rng.choice(others)
            begin = rng.randrange(len(other) + 1)
            data[at:at + 16] = other[begin:begin + 16]
        elif rng.randrange(4) == 0:
            del data[at:]
    return bytes(data)


def mutate_text(rng, data, others, words=()):
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


def move_lines(rng, text, others):
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


def mutate_source(rng, data, others):
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


def mutate_json(rng, data, others):
    """A value somewhere in a JSON document becomes another; sometimes the text itself is changed."""
    if rng.randrange(4) == 0:
        return mutate_text(rng, data, others)
    document = json.loads(data)
    places = []

    def collect(node):
        items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
        for key, value in list(items):
            places.append((node, key))
            collect(value)

    collect(document)
    for _ in range(rng.choice((1, 1, 2, 4))):
        if not places:
            break
        node, key = rng.choice(places)
        value = rng.choice((None, True, 0, -1, 1.5, 2**31, 2**63, 1e308, "", [], {}, [1, 2, 3], rng.choice(NAMES), rng.choice(NUMBERS)))
        if isinstance(node, list):
            if key < len(node):
                node[key] = value
        elif rng.randrange(4) == 0:
            node[rng.choice(NAMES)] = node.pop(key, value)
        else:
            node[key] = value
    return json.dumps(document).encode()


def mutate_options(rng, data, others):
    """One line of options: keys, values and separators."""
    return mutate_text(rng, data, others, (",", "=", "ranks", "seed", "latency", "bandwidth", "us", "GB/s", "servers", "ranks-per-node", *NUMBERS)).replace(b"\x00", b"").replace(b"\n", b"")
