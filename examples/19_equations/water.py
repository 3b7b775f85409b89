"""From equations to the CCSDT energy of water: a session to step through (cells begin with # %%), or to run as it is.

    PATH=$PWD/build/release/bin:$PATH PYTHONPATH=runtime/python python3 examples/19_equations/water.py     # from the top of the checkout
"""
# %% the equations: derived by a program, or written by hand in the same form
import pathlib

import sialx

here = pathlib.Path(__file__).resolve().parent
equations = sialx.equations.from_text(here / "ccsdt.txt")
for equation in equations.equations:
    print(f"{equation.target!s:20s} {len(equation.terms)} terms")

# %% the method: its products, in phases that need one barrier each, and the program
ccsdt = sialx.method(equations)
print(ccsdt)
print("\n".join(ccsdt.sial.split("\n")[:40]))

# %% the energy, on two ranks; RHF and the integrals are programs of the examples
result = ccsdt.run(here.parent / "molecules" / "water.xyz", basis="sto-3g", ranks=2)
print(f"CCSDT correlation energy {result.correlation_energy:.10f} after {result.cycles} cycles; PySCF has -0.0494522940")
print("t2:", result.arrays["t2"].shape, "largest:", abs(result.arrays["t2"][...]).max())
