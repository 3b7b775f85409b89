# The headers of the standard library and of fmt that most files include are read once: they are nine lines in ten of what the compiler
# would read. Files include what they use all the same, and compile without this.
# A file with options for its processor reads its own headers; so do builds with sanitizers, whose options differ from folder to folder.
if(SIALX_SANITIZE)
  return()
endif()

# For each level of optimisation: GCC 12 ends with an internal error where the levels of headers and file differ.
file(GENERATE OUTPUT ${CMAKE_BINARY_DIR}/compiled_headers.cpp CONTENT "")
foreach(level "" -O2 -O3)
  set(target sialx_compiled_headers${level})
  add_library(${target} OBJECT ${CMAKE_BINARY_DIR}/compiled_headers.cpp)
  target_link_libraries(${target} PRIVATE sialx_options Threads::Threads)
  target_precompile_headers(${target} PRIVATE
    <algorithm> <array> <atomic> <bit> <cerrno> <charconv> <chrono> <cmath> <cstdint> <cstring> <deque> <filesystem> <fstream> <functional> <iterator> <limits>
    <map> <memory> <mutex> <numeric> <optional> <set> <span> <sstream> <string> <string_view> <thread> <unordered_map> <utility> <variant> <vector>
    <fmt/format.h> <fmt/ranges.h>)
  if(level)
    sialx_fast_code(${target} ${level})
  endif()
endforeach()

function(sialx_use_compiled_headers folder)
  get_property(targets DIRECTORY ${folder} PROPERTY BUILDSYSTEM_TARGETS)
  foreach(target IN LISTS targets)
    get_target_property(type ${target} TYPE)
    get_target_property(links ${target} LINK_LIBRARIES)
    if(type MATCHES "STATIC_LIBRARY|SHARED_LIBRARY|EXECUTABLE" AND links MATCHES "sialx_")
      get_property(level TARGET ${target} PROPERTY SIALX_FAST_CODE)
      target_precompile_headers(${target} REUSE_FROM sialx_compiled_headers${level})
      if(type STREQUAL "EXECUTABLE") # the same code as of libraries, for the same headers
        set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
        target_compile_options(${target} PRIVATE -fPIC)
      endif()
    endif()
  endforeach()
  get_property(folders DIRECTORY ${folder} PROPERTY SUBDIRECTORIES)
  foreach(inner IN LISTS folders)
    sialx_use_compiled_headers(${inner})
  endforeach()
endfunction()
sialx_use_compiled_headers(${CMAKE_SOURCE_DIR})
