#!/usr/bin/env python3
"""Writes hubbard.FCIDUMP and benzene.FCIDUMP, two models of electrons on the sites of a ring.  make_models.py [FOLDER]

Hubbard (J. Hubbard, Proc. R. Soc. London A 276, 238 (1963)): hopping t between neighbours, repulsion u of two electrons on a site.
Pariser-Parr-Pople of benzene (R. Pariser, R. G. Parr, J. Chem. Phys. 21, 466 (1953); J. A. Pople, Trans. Faraday Soc. 49, 1375 (1953)), in eV, with
repulsion between sites by K. Ohno, Theor. Chim. Acta 2, 219 (1964): v(r) = u / sqrt(1 + (u r / 14.397 eV Angstrom)**2), u = 11.26 eV, hopping -2.4 eV,
bonds of 1.4 Angstrom. Each site has one electron and a core of charge 1."""

import argparse
import math
import pathlib


def write(path, sites, electrons, hopping, repulsion, cores):
    """hopping: between neighbours; repulsion: [p][r] = (pp|rr); cores: whether sites attract electrons as they repel them."""
    near = {(min(p, (p + 1) % sites), max(p, (p + 1) % sites)) for p in range(sites)}
    lines = [f"&FCI NORB={sites},NELEC={electrons},MS2=0,", f"  ORBSYM={','.join(['1'] * sites)},", "  ISYM=1,", "&END"]
    lines += [f"{repulsion[p][r]:23.16E} {p + 1} {p + 1} {r + 1} {r + 1}" for p in range(sites) for r in range(p + 1) if repulsion[p][r]]
    lines += [f"{hopping:23.16E} {q + 1} {p + 1} 0 0" for p, q in sorted(near)]
    others = [sum(repulsion[p][r] for r in range(sites) if r != p) for p in range(sites)]
    if cores:
        lines += [f"{-others[p]:23.16E} {p + 1} {p + 1} 0 0" for p in range(sites)]
    lines += [f"{sum(others) / 2 if cores else 0.0:23.16E} 0 0 0 0"]
    path.write_text("\n".join(lines) + "\n")


def main():
    parser = argparse.ArgumentParser(description="Writes hubbard.FCIDUMP and benzene.FCIDUMP, models of rings of six sites.")
    parser.add_argument("folder", nargs="?", default=".", type=pathlib.Path, help="where to, an existing folder (without it the current one)")
    folder = parser.parse_args().folder
    if not folder.is_dir():
        parser.error(f"`{folder}` is no folder")
    n = 6
    write(folder / "hubbard.FCIDUMP", n, 6, -1.0, [[2.0 if p == r else 0.0 for r in range(n)] for p in range(n)], False)
    place = [(1.4 * math.cos(math.pi * p / 3), 1.4 * math.sin(math.pi * p / 3)) for p in range(n)]
    u = 11.26
    ohno = [[u / math.sqrt(1.0 + (u * math.dist(a, b) / 14.397) ** 2) for b in place] for a in place]
    write(folder / "benzene.FCIDUMP", n, 6, -2.4, ohno, True)


if __name__ == "__main__":
    main()
