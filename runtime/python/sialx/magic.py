"""`%%sial` for IPython and Jupyter: a cell that is a SIAL program. `%load_ext sialx` brings it."""

from __future__ import annotations

import argparse
import ast
import shlex
from typing import Any, NoReturn

from .in_process import CompileError, run


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise ValueError(f"{message}\n{self.format_usage()}")


def _parser() -> _Parser:
    parser = _Parser(prog="%%sial", add_help=False, description=__doc__)
    parser.add_argument("result", nargs="?", help="name that the results get in the notebook")
    parser.add_argument("--arrays", default="", help="a,b: arrays of the notebook for the program's predefined arrays of these names")
    parser.add_argument("--values", nargs="+", default=[], metavar="NAME=VALUE", help="n=4 x=0.5, or names of the notebook: n=n")
    parser.add_argument("--segments", nargs="+", default=[], metavar="KIND=LIST", help="ao=8,8,4")
    parser.add_argument("--save", default="", help="t,u: distributed and served arrays that the results are to have")
    parser.add_argument("--memory")
    return parser


def _pairs(texts: list[str]) -> list[tuple[str, str]]:
    for text in texts:
        if "=" not in text:
            raise ValueError(f"`{text}` is not NAME=VALUE")
    return [(name, value) for name, _, value in (text.partition("=") for text in texts)]


def _value(text: str, names: dict[str, Any]) -> Any:
    if text in names:
        return names[text]
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        raise ValueError(f"`{text}` is neither a number nor a name of the notebook") from None


def sial(line: str, cell: str, names: dict[str, Any]) -> None:
    """Runs a cell; `names` are those of the notebook, where the results go under the name that the line begins with. Raises ValueError for a
    line that it cannot read, and what run() raises."""
    given = _parser().parse_args(shlex.split(line))
    arrays = {}
    for name in filter(None, given.arrays.split(",")):
        if name not in names:
            raise ValueError(f"the notebook has no array `{name}`")
        arrays[name] = names[name]
    results = run(
        cell if "\n" in cell else cell + "\n",
        arrays=arrays,
        values={name: _value(text, names) for name, text in _pairs(given.values)},
        segments={kind: text for kind, text in _pairs(given.segments)},
        save=list(filter(None, given.save.split(","))),
        memory=given.memory,
        output=lambda text: print(text, end="", flush=True),
    )
    if given.result:
        names[given.result] = results


def load_ipython_extension(shell: Any) -> None:
    """What `%load_ext sialx` calls."""
    from IPython.core.error import UsageError

    def cell_magic(line: str, cell: str) -> None:
        try:
            sial(line, cell, shell.user_ns)
        except (ValueError, CompileError) as error:  # says all there is to say, without Python's traceback
            raise UsageError(str(error)) from None

    cell_magic.__doc__ = _parser().format_help()
    shell.register_magic_function(cell_magic, "cell", "sial")
