# SPDX-License-Identifier: Apache-2.0
# A library is compiled once. The static one (the target `name`) is what the program and
# the tests link, so a test may call what no header names; the shared one of the same
# objects is what others link, and shows only what cmake/<name>.map lets through.
function(weft_library name)
  add_library(${name} STATIC)
endfunction()

# Call after every module has added its sources and libraries. `needs`: other libraries of
# this project, linked shared as well.
function(weft_shared_library name)
  set(needs ${ARGN})
  install(TARGETS ${name} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
  if(NOT BUILD_SHARED_LIBS)
    return()
  endif()
  set(shared ${name}_shared)
  set(map ${CMAKE_SOURCE_DIR}/cmake/${name}.map)
  add_library(${shared} SHARED $<TARGET_OBJECTS:${name}>)
  set_target_properties(${shared} PROPERTIES
    OUTPUT_NAME ${name} VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}
    LINKER_LANGUAGE C LINK_DEPENDS ${map})
  target_link_options(${shared} PRIVATE -Wl,--version-script=${map})
  set(libraries $<TARGET_PROPERTY:${name},LINK_LIBRARIES>)
  foreach(need IN LISTS needs)
    set(libraries $<FILTER:${libraries},EXCLUDE,^${need}$>)
    target_link_libraries(${shared} PRIVATE ${need}_shared)
  endforeach()
  target_link_libraries(${shared} PRIVATE ${libraries})
  install(TARGETS ${shared} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endfunction()
