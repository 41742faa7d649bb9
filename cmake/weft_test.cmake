# SPDX-License-Identifier: Apache-2.0
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
pkg_check_modules(CMOCKA REQUIRED IMPORTED_TARGET cmocka)

# weft_test_properties(name [LONG] [LABELS x ...] [ENV A=1 ...]): what every ctest entry
# of this project has. Exit 77 = skipped. Labels with a meaning for ./check: mpi (also run
# in the MPICH build), tsan, asan (also run in that build). Tests labelled mpi or timing
# have the machine to themselves.
function(weft_test_properties name)
  cmake_parse_arguments(T "" "" "LABELS;ENV" ${ARGN})
  set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 77 LABELS "${T_LABELS}"
                                          ENVIRONMENT "${T_ENV}" TIMEOUT 600)
  if("mpi" IN_LIST T_LABELS OR "timing" IN_LIST T_LABELS)
    set_tests_properties(${name} PROPERTIES RUN_SERIAL ON)
  endif()
endfunction()

# weft_test(name SOURCES a.c ... [LIBS weft-run ...] [LONG] [LABELS x ...] [ENV A=1 ...])
# One cmocka program, one ctest entry. LONG: only with WEFT_LONG_TESTS. Tests of libweft
# alone are labelled asan by themselves.
function(weft_test name)
  cmake_parse_arguments(T "LONG" "" "SOURCES;LIBS;LABELS;ENV;ARGS" ${ARGN})
  add_executable(test_${name} ${T_SOURCES})
  target_include_directories(test_${name} PRIVATE ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/runtime
                                                  ${CMAKE_SOURCE_DIR}/tests)
  target_compile_definitions(test_${name} PRIVATE WEFT_SHARED_DIR="${CMAKE_SOURCE_DIR}/../shared"
                                                  WEFT_TEST_DIR="${CMAKE_SOURCE_DIR}/tests")
  target_link_libraries(test_${name} PRIVATE weft ${T_LIBS} PkgConfig::CMOCKA m)
  if(T_LONG AND NOT WEFT_LONG_TESTS)
    return()
  endif()
  if(NOT "weft-run" IN_LIST T_LIBS)
    list(APPEND T_LABELS asan) # tests of the pure library are quick
  endif()
  add_test(NAME ${name} COMMAND test_${name} ${T_ARGS})
  weft_test_properties(${name} LABELS ${T_LABELS} ENV ${T_ENV})
endfunction()
