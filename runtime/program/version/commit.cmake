# Writes OUT, the source with the commit of SOURCE, when that has changed. A package that is built outside of a repository says it in
# $SIALX_COMMIT.
set(commit "$ENV{SIALX_COMMIT}")
if(NOT commit AND GIT AND EXISTS ${SOURCE}/.git)
  execute_process(COMMAND ${GIT} -C ${SOURCE} rev-parse --short=12 HEAD OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  execute_process(COMMAND ${GIT} -C ${SOURCE} --no-optional-locks diff --quiet HEAD RESULT_VARIABLE differs OUTPUT_QUIET ERROR_QUIET)
  if(commit AND NOT differs EQUAL 0)
    string(APPEND commit " and changes")
  endif()
endif()
if(NOT commit MATCHES "^[0-9A-Za-z .+_-]+$")
  set(commit "unknown, built outside of a repository")
endif()
file(CONFIGURE OUTPUT ${OUT} CONTENT [=[
#include "runtime/program/version/commit.h"
std::string_view sial::source_commit() { return "@commit@"; }
]=] @ONLY)
