# find_package(sialx): sialx::plugin, what a plugin with super instructions is compiled against, and SIALX_PROGRAMS, the folder of sialrun.
get_filename_component(sialx_prefix ${CMAKE_CURRENT_LIST_DIR}/../../.. ABSOLUTE)
if(NOT TARGET sialx::plugin)
  add_library(sialx::plugin INTERFACE IMPORTED)
  set_target_properties(sialx::plugin PROPERTIES INTERFACE_INCLUDE_DIRECTORIES ${sialx_prefix}/include INTERFACE_COMPILE_FEATURES cxx_std_17)
endif()
set(SIALX_PROGRAMS ${sialx_prefix}/bin)
unset(sialx_prefix)
