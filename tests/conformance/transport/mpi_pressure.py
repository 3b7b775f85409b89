#!/usr/bin/env python3
"""Seven ranks that all send to one, 63 with SIALX_LONG_TESTS=1, over TCP as between hosts: shared memory takes large messages at once.

    mpi_pressure.py MPI_SUITE MPIRUN [FLAGS...]
"""
import os
import subprocess
import sys

ENV = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_rmaps_base_oversubscribe="1", OMPI_MCA_btl="self,tcp", OMPI_MCA_pml="ob1")

if __name__ == "__main__":
    program, mpirun, *flags = sys.argv[1:]
    ranks = 64 if os.environ.get("SIALX_LONG_TESTS") == "1" else 8
    sys.exit(subprocess.run([mpirun, "-n", str(ranks), *flags, program, "--ranks-per-node", "1", "pressure"], env=ENV, stdin=subprocess.DEVNULL).returncode)
