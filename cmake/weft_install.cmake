# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` lays down beside the targets (those install themselves).
if(WEFT_RUN)
  install(DIRECTORY include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
else()
  install(DIRECTORY include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} PATTERN run EXCLUDE)
endif()
install(DIRECTORY man/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 FILES_MATCHING PATTERN *.1)
install(FILES cmake/weft.bash-completion RENAME weft
        DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(DIRECTORY examples/ DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples
        FILES_MATCHING PATTERN *.c PATTERN *.sh PATTERN *.md)
install(FILES LICENSE README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})

# A folder below the prefix is written as ${prefix}/..., so that the tree can be moved.
function(weft_pc_folder out folder)
  if(IS_ABSOLUTE "${folder}")
    set(${out} "${folder}" PARENT_SCOPE)
  else()
    set(${out} "\${prefix}/${folder}" PARENT_SCOPE)
  endif()
endfunction()
weft_pc_folder(WEFT_PC_INCLUDEDIR "${CMAKE_INSTALL_INCLUDEDIR}")
weft_pc_folder(WEFT_PC_LIBDIR "${CMAKE_INSTALL_LIBDIR}")

# The prefix is known at install time only: `cmake --install --prefix` may name another.
function(weft_install_pc name)
  set(values "")
  foreach(var PROJECT_VERSION WEFT_PC_INCLUDEDIR WEFT_PC_LIBDIR
              WEFT_PC_LIBS)
    string(APPEND values "set(${var} [==[${${var}}]==])\n")
  endforeach()
  install(CODE "${values}configure_file([==[${CMAKE_SOURCE_DIR}/cmake/${name}.pc.in]==]
                                        [==[${CMAKE_BINARY_DIR}/${name}.pc]==] @ONLY)")
  install(FILES ${CMAKE_BINARY_DIR}/${name}.pc
          DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endfunction()

weft_install_pc(weft)
if(WEFT_RUN)
  # What a static link of ours takes besides; those libraries themselves are shared. MPI is
  # not here: compile with mpicc, or add its own .pc file.
  set(WEFT_PC_LIBS "-lpthread -lm")
  if(WEFT_BLAS)
    string(PREPEND WEFT_PC_LIBS "-lopenblas ")
  endif()
  if(WEFT_ONEDNN)
    string(PREPEND WEFT_PC_LIBS "-ldnnl ")
  endif()
  if(WEFT_OPENMP)
    string(PREPEND WEFT_PC_LIBS "-lgomp ")
  endif()
  weft_install_pc(weft-run)
endif()
