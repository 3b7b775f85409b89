# `cpack -G DEB` in the build folder, or tests/install/packages.sh. What a Debian package has beside the installed tree is made by
# debian_tree.cmake, which CPack runs before it packs.
set(CPACK_PACKAGE_NAME sialx)
set(CPACK_PACKAGE_VENDOR sialx)
set(CPACK_PACKAGE_CONTACT "sialx developers <sialx@packages.invalid>")
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "compiler and runtime of SIAL, a language for quantum chemistry")
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
string(CONCAT CPACK_DEBIAN_PACKAGE_DESCRIPTION
  "SIAL, the language of the Super Instruction Architecture (ACES III, ACES4),\n"
  "describes methods of quantum chemistry as loops over blocks of tensors.\n"
  "sialc compiles it, sialrun runs it on one machine or on an MPI cluster,\n"
  "sialreport shows where the time went. Programs for RHF, MP2, CCSD(T),\n"
  "EOM-CCSD and other methods are in /usr/share/sialx/examples.")
set(CPACK_PACKAGE_DESCRIPTION ${CPACK_DEBIAN_PACKAGE_DESCRIPTION})
set(mpi_programs openmpi-bin)
if(MPI_C_COMPILER MATCHES mpich)
  set(mpi_programs mpich)
endif()
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "${mpi_programs}, python3, python3-numpy, python3-h5py")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "python3-mpi4py, pkg-config, g++")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_CURRENT_SOURCE_DIR}/debian_tree.cmake)
include(CPack)
