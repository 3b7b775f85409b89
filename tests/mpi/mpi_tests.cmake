# sialx_mpi_test(NAME name PROGRAM target-or-path RANKS n [ARGS ...] [LABELS ...])
# Registers `mpirun -n RANKS PROGRAM ARGS...` with CTest under label mpi.
# --bind-to none: else a helper thread shares its rank's core; yielding: there may be more ranks than cores.
find_program(SIALX_MPIRUN NAMES mpirun mpiexec REQUIRED)
execute_process(COMMAND ${SIALX_MPIRUN} --version OUTPUT_VARIABLE SIALX_MPIRUN_VERSION ERROR_QUIET)
if(SIALX_MPIRUN_VERSION MATCHES "Open MPI|OpenRTE")
  set(SIALX_MPIRUN_FLAGS --bind-to none --mca mpi_yield_when_idle 1)
else()
  set(SIALX_MPIRUN_FLAGS "")
endif()

function(sialx_mpi_test)
  cmake_parse_arguments(T "" "NAME;PROGRAM;RANKS" "ARGS;LABELS" ${ARGN})
  if(TARGET ${T_PROGRAM})
    set(program $<TARGET_FILE:${T_PROGRAM}>)
  else()
    set(program ${T_PROGRAM})
  endif()
  add_test(NAME ${T_NAME} COMMAND ${SIALX_MPIRUN} -n ${T_RANKS} ${SIALX_MPIRUN_FLAGS} ${program} ${T_ARGS})
  set_tests_properties(${T_NAME} PROPERTIES LABELS "mpi;${T_LABELS};${SIALX_HOUSE}" PROCESSORS ${T_RANKS}
    ENVIRONMENT "OMPI_ALLOW_RUN_AS_ROOT=1;OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1;OMPI_MCA_rmaps_base_oversubscribe=1")
endfunction()
