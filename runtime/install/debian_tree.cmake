# CPack runs this over the tree that goes into the Debian package: licence and changelog where Debian wants them, compressed manual pages,
# no search paths of libraries (Debian's are all in the system's folders), and times of files that do not tell when it was built.
if(NOT CPACK_GENERATOR STREQUAL "DEB")
  return()
endif()
set(usr ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/usr)
if(NOT DEFINED ENV{SOURCE_DATE_EPOCH})
  execute_process(COMMAND git -C ${CMAKE_CURRENT_LIST_DIR} log -1 --format=%ct OUTPUT_VARIABLE epoch OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(epoch)
    set(ENV{SOURCE_DATE_EPOCH} ${epoch})
  endif()
endif()
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC) # of SOURCE_DATE_EPOCH where that is set

set(doc ${usr}/share/doc/sialx)
file(REMOVE ${doc}/LICENSE)
file(WRITE ${doc}/copyright "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: sialx

Files: *
Copyright: 2026 the authors of sialx
License: Apache-2.0

Files: share/sialx/basis/*
Copyright: 1970-2026 the authors of the basis sets; see share/sialx/basis/README.md for what to cite
License: Apache-2.0
Comment: numbers from the Basis Set Exchange, https://www.basissetexchange.org

License: Apache-2.0
 On Debian systems the text of the Apache License, version 2.0, is in
 /usr/share/common-licenses/Apache-2.0.
")
file(WRITE ${doc}/changelog.Debian "sialx (${CPACK_PACKAGE_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE}) unstable; urgency=medium

  * Version ${CPACK_PACKAGE_VERSION}; RELEASES.md says what is new.

 -- ${CPACK_PACKAGE_CONTACT}  ${date}
")
file(MAKE_DIRECTORY ${usr}/share/zsh)
file(RENAME ${usr}/share/zsh/site-functions ${usr}/share/zsh/vendor-completions)

function(must)
  execute_process(COMMAND ${ARGV} COMMAND_ERROR_IS_FATAL ANY)
endfunction()
file(GLOB pages ${usr}/share/man/man1/*.1)
must(gzip -9nf ${pages} ${doc}/changelog.Debian)

file(GLOB programs ${usr}/bin/* ${usr}/lib/sialx/*.so)
foreach(file ${programs})
  file(READ ${file} start LIMIT 4 HEX)
  if(start STREQUAL "7f454c46")
    file(RPATH_REMOVE FILE ${file})
    must(strip --strip-unneeded --remove-section=.comment --remove-section=.note ${file})
  endif()
endforeach()
file(GLOB libraries ${usr}/lib/sialx/*.so)
foreach(file ${libraries})
  file(CHMOD ${file} PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ) # nothing runs a library
endforeach()
must(find ${usr} -type d -exec chmod 755 {} +)
if(DEFINED ENV{SOURCE_DATE_EPOCH})
  must(find ${CPACK_TEMPORARY_INSTALL_DIRECTORY} -exec touch -h -d @$ENV{SOURCE_DATE_EPOCH} {} +)
endif()
