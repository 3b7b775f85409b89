"""Statements about devices, strewn over a program that is finished: they name blocks that the statements beside them name, existing or not,
and change nothing; and factors of one, which leave the device alone with what is put next. With a random stream of their own, so that all other programs stay what they are."""
import random
import re

from program import Body, Node

BLOCK = re.compile(r"\b\w+\[\w+(?:,\w+)*\]")
PART = re.compile(r"[\[,](?:ii|jj)\b")  # of a block, mostly: it cannot be named
WORDS = ["gpu_put", "gpu_get", "gpu_free", "gpu_allocate"]
PUT = re.compile(r"(?:put|prepare) \S+ \+?= ((\w+)\[[\w,]+\])$")
EVERY = 5   # program
PERCENT = 40


def strew(program, seed, statics, own):
    """`statics` and `own`: names of static arrays, and of temps and locals."""
    if seed % EVERY != 0:
        return
    r = random.Random(f"{seed} of devices in {program.name}")
    for statements in (program.body, program.procedures):
        into(statements, r, statics, own)


def into(body, r, statics, own):
    result: Body = []
    for statement in body:
        if isinstance(statement, Node):
            into(statement.body, r, statics, own)
            if statement.orelse is not None:
                into(statement.orelse, r, statics, own)
            result.append(statement)
            continue
        put = PUT.match(statement)
        if put and put.group(2) in own and not PART.search(put.group(1)) and r.randrange(100) < PERCENT:
            result += [f"{put.group(1)} *= 1.0", statement]
            if r.randrange(2):
                result.append(f"{put.group(1)} *= 1.0")
            continue
        blocks = BLOCK.findall(statement) if statement.split()[0] not in ("where", "print", "println") else []
        blocks = [b for b in blocks if not PART.search(b)]
        for place in (False, True):
            if place:
                result.append(statement)
            if blocks and r.randrange(100) < PERCENT:
                result.append(f"{r.choice(WORDS)} {r.choice(statics) if statics and r.randrange(8) == 0 else r.choice(blocks)}")
    body[:] = result
