"""The command sialx-equations: a file of equations in, a SIAL program out."""

from __future__ import annotations

import argparse
import math
import sys
import warnings
from pathlib import Path
from typing import Dict, List, Optional

from .bounded import plan
from .diagnostics import EquationError
from .methods import CLOSED_SHELL, SPINS, UNRESTRICTED, VVVV, in_spins, method
from .planning import USUAL_EXTENTS
from .sial import to_sial
from .text import from_text
from .unrestricted import extents_of_spins


def extents_of(text: str) -> Dict[str, float]:
    """ "o=10,v=50" as a dictionary."""
    out = {}
    for part in text.split(","):
        name, equals, number = part.partition("=")
        if not equals or not number.strip().isdigit() or int(number) < 1:
            raise argparse.ArgumentTypeError(f"`{part}` is not SPACE=NUMBER, as in o=10,v=50")
        out[name.strip()] = float(number)
    return out


def main(arguments: Optional[List[str]] = None) -> int:
    parser = argparse.ArgumentParser(prog="sialx-equations", description="Writes the SIAL program that equations of coupled-cluster theory stand for.")
    parser.add_argument("file", help="the equations, in the text form of EQUATIONS.md")
    parser.add_argument("-o", "--output", metavar="FILE", help="where the program goes; FILE.sialx by default, - for the terminal")
    parser.add_argument("--spin", choices=SPINS, default=CLOSED_SHELL,
                        help="sum over spin first, divide into blocks of spins, or take equations as they are that are over orbitals or spin orbitals (default: closed-shell)")
    parser.add_argument("--evaluate", action="store_true", help="a program that evaluates the equations once, instead of solving them for the amplitudes")
    parser.add_argument("--amplitudes", metavar="NAME,...", default="", help="those to solve for (default: all)")
    parser.add_argument("--energy", metavar="NAME", default="energy", help="the scalar that is the energy (default: energy)")
    parser.add_argument("--extents", metavar="SPACE=N,...", type=extents_of, help="orbitals of each space, which decide between orders of products (default: o=10,v=50)")
    parser.add_argument("--most-elements", metavar="N", type=float, default=math.inf, help="of an intermediate, where another way of computing its terms has smaller ones")
    parser.add_argument("--memory", metavar="SIZE", help="of all arrays, over all ranks: the cheapest plan that needs no more, with the orbitals of --extents (2GB, 500MB)")
    parser.add_argument("--vvvv", choices=VVVV, help="integrals over four virtual orbitals: stored, or contracted over basis functions (default: stored, or what --memory needs)")
    parser.add_argument("--plan", action="store_true", help="print the products by phases, and the number of multiplications")
    given = parser.parse_args(arguments)
    path = Path(given.file)
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            equations = from_text(path)
        for warning in caught:
            print(warning.message, file=sys.stderr)
        if given.evaluate:
            extents = extents_of_spins(equations, given.extents) if given.spin == UNRESTRICTED else given.extents
            if given.vvvv:
                raise ValueError("--vvvv is of methods, which have orbitals; --evaluate takes all its arrays from the job")
            planned = plan(in_spins(equations, given.spin), extents, given.most_elements, given.memory)
            text = to_sial(planned, path.stem).text
        else:
            amplitudes = [a for a in given.amplitudes.split(",") if a]
            made = method(equations, given.spin, amplitudes, given.energy, path.stem, given.extents or (USUAL_EXTENTS if given.memory else None), most_elements=given.most_elements,
                          memory=given.memory, vvvv=given.vvvv)
            planned, text = made.plan, made.sial
        if given.plan:
            text = f"{planned}\nmultiplications: {planned.multiplications:.3e}, elements of the largest intermediate: {planned.largest:.3e}\n"
        if given.output == "-" or (given.plan and not given.output):
            print(text, end="")
        else:
            output = Path(given.output) if given.output else path.with_suffix(".sialx")
            if output.exists() and output.samefile(path):
                raise ValueError(f"the program would replace the equations in `{path}`: name another file with -o")
            output.write_text(text)
            print(f"wrote {output}", file=sys.stderr)
    except EquationError as error:
        print(error, file=sys.stderr)
        return 1
    except (OSError, ValueError) as error:
        print(f"sialx-equations: error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
