# The headers of the standard library and of fmt that most files include are read once: they are nine lines in ten of what the compiler
# would read. Files include what they use all the same, and compile without this.
# A file with options for its processor reads its own headers; so do builds with sanitizers, whose options differ from folder to folder.
if(SIALX_SANITIZE)
  return()
endif()

set(headers
  <algorithm> <array> <atomic> <bit> <cerrno> <charconv> <chrono> <cmath> <cstdint> <cstring> <deque> <filesystem> <fstream> <functional> <iterator> <limits>
  <map> <memory> <mutex> <numeric> <optional> <set> <span> <sstream> <string> <string_view> <thread> <unordered_map> <utility> <variant> <vector>
  <fmt/format.h> <fmt/ranges.h>)

# The bytes of a compiled header differ from build to build: ccache (CCACHE_PCH_EXTSUM) knows it by the text that was compiled.
list(TRANSFORM headers PREPEND "#include " OUTPUT_VARIABLE text)
list(JOIN text "\n" text)
file(WRITE ${CMAKE_BINARY_DIR}/compiled_headers.h "${text}\n")
execute_process(COMMAND ${CMAKE_CXX_COMPILER} -std=c++20 -E -P -x c++ ${CMAKE_BINARY_DIR}/compiled_headers.h OUTPUT_VARIABLE text COMMAND_ERROR_IS_FATAL ANY)
string(SHA256 sum "${text}")

# For each level of optimisation: GCC 12 ends with an internal error where the levels of headers and file differ.
file(GENERATE OUTPUT ${CMAKE_BINARY_DIR}/compiled_headers.cpp CONTENT "")
foreach(level "" -O2 -O3)
  set(target sialx_compiled_headers${level})
  add_library(${target} OBJECT ${CMAKE_BINARY_DIR}/compiled_headers.cpp)
  target_link_libraries(${target} PRIVATE sialx_options Threads::Threads)
  target_precompile_headers(${target} PRIVATE ${headers})
  file(WRITE ${CMAKE_BINARY_DIR}/CMakeFiles/${target}.dir/cmake_pch.hxx.gch.sum ${sum})
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
