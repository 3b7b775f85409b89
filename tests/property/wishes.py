"""Statements about devices, strewn over a program that is finished: they name blocks that the statements beside them name, existing or not,
and change nothing. With a random stream of their own, so that all other programs stay what they are."""
import random
import re

from program import Node

BLOCK = re.compile(r"\b\w+\[\w+(?:,\w+)*\]")
PART = re.compile(r"[\[,](?:ii|jj)\b")  # of a block, mostly: it cannot be named
WORDS = ["gpu_put", "gpu_get", "gpu_free", "gpu_allocate"]
EVERY = 5   # program
PERCENT = 40


def strew(program, seed, statics):
    if seed % EVERY != 0:
        return
    r = random.Random(f"{seed} of devices in {program.name}")
    for statements in (program.body, program.procedures):
        into(statements, r, statics)


def into(body, r, statics):
    result = []
    for statement in body:
        if isinstance(statement, Node):
            into(statement.body, r, statics)
            if statement.orelse is not None:
                into(statement.orelse, r, statics)
            result.append(statement)
            continue
        blocks = BLOCK.findall(statement) if statement.split()[0] not in ("where", "print", "println") else []
        blocks = [b for b in blocks if not PART.search(b)]
        for place in (False, True):
            if place:
                result.append(statement)
            if blocks and r.randrange(100) < PERCENT:
                result.append(f"{r.choice(WORDS)} {r.choice(statics) if statics and r.randrange(8) == 0 else r.choice(blocks)}")
    body[:] = result
