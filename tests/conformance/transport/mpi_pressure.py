#!/usr/bin/env python3
"""Seven ranks that all send to one, 63 with run.sh --long, over TCP as between hosts: shared memory takes large messages at once.

    mpi_pressure.py MPI_SUITE MPIRUN [FLAGS...]
"""
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from harness import ENV, LONG

OVER_TCP = dict(ENV, OMPI_MCA_btl="self,tcp", OMPI_MCA_pml="ob1")

if __name__ == "__main__":
    program, mpirun, *flags = sys.argv[1:]
    ranks = 64 if LONG else 8
    sys.exit(subprocess.run([mpirun, "-n", str(ranks), *flags, program, "--ranks-per-node", "1", "pressure"], env=OVER_TCP, stdin=subprocess.DEVNULL).returncode)
