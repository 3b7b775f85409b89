# Sourced: how to start ranks on one machine, whatever its number of cores. Without --bind-to none a helper thread would share
# its rank's core; without yielding, waiting ranks starve computing ones when there are more ranks than cores.
sialx_mpirun() {  # sialx_mpirun RANKS COMMAND...
  local ranks=$1
  shift
  OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 \
    mpirun -n "$ranks" --bind-to none --mca mpi_yield_when_idle 1 "$@"
}
