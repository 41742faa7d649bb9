# SPDX-License-Identifier: Apache-2.0
# The target weft_mpi for WEFT_MPI=openmpi or mpich. FindMPI finds whichever mpicc comes
# first in PATH; here the user has said which MPI, and the other one does not count.
#
# Sources, in order: the MPI's own .pc file, then its compiler wrapper asked for its flags.
# Also set: WEFT_MPIEXEC, the launcher of the same MPI (empty when there is none).
if(WEFT_MPI STREQUAL "openmpi")
  set(pc ompi-c)
  set(wrappers mpicc.openmpi mpicc)
  set(ask_flags --showme:compile --showme:link)
  set(launchers mpirun.openmpi mpirun)
  set(package "libopenmpi-dev")
elseif(WEFT_MPI STREQUAL "mpich")
  set(pc mpich)
  set(wrappers mpicc.mpich mpicc)
  set(ask_flags -compile_info -link_info)
  set(launchers mpiexec.hydra mpiexec)
  set(package "libmpich-dev")
else()
  message(FATAL_ERROR "WEFT_MPI=${WEFT_MPI}: openmpi, mpich or none is needed")
endif()

# The flags one wrapper prints, or empty.
function(weft_ask_wrapper wrapper question out)
  set(${out} "" PARENT_SCOPE)
  execute_process(COMMAND ${wrapper} ${question} OUTPUT_VARIABLE text
                  ERROR_QUIET RESULT_VARIABLE status OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(NOT status EQUAL 0)
    return()
  endif()
  separate_arguments(flags UNIX_COMMAND "${text}")
  list(FILTER flags INCLUDE REGEX "^-([ILl]|Wl,)")
  set(${out} "${flags}" PARENT_SCOPE)
endfunction()

find_package(PkgConfig QUIET)
if(PkgConfig_FOUND)
  pkg_check_modules(WEFT_MPI_PC QUIET IMPORTED_TARGET ${pc})
endif()
if(WEFT_MPI_PC_FOUND)
  set(weft_mpi_link PkgConfig::WEFT_MPI_PC)
  set(weft_mpi_found "${pc}.pc ${WEFT_MPI_PC_VERSION}")
else()
  find_program(WEFT_MPICC NAMES ${wrappers})
  if(WEFT_MPICC)
    list(GET ask_flags 0 ask_compile)
    list(GET ask_flags 1 ask_link)
    weft_ask_wrapper(${WEFT_MPICC} ${ask_compile} compile)
    weft_ask_wrapper(${WEFT_MPICC} ${ask_link} link)
    if(link)
      set(weft_mpi_compile ${compile})
      set(weft_mpi_link ${link})
      set(weft_mpi_found "${WEFT_MPICC}")
    endif()
  endif()
endif()
if(NOT weft_mpi_found)
  message(FATAL_ERROR "WEFT_MPI=${WEFT_MPI} was asked for, but neither ${pc}.pc nor a "
                      "compiler wrapper of it (${wrappers}) was found.\n"
                      "Debian: apt-get install ${package}; or configure with "
                      "-DWEFT_MPI=none")
endif()

add_library(weft_mpi INTERFACE)
target_compile_options(weft_mpi INTERFACE ${weft_mpi_compile})
target_link_libraries(weft_mpi INTERFACE ${weft_mpi_link})

# A header of the other MPI would compile and fail at run time.
set(CMAKE_REQUIRED_FLAGS ${weft_mpi_compile})
list(JOIN CMAKE_REQUIRED_FLAGS " " CMAKE_REQUIRED_FLAGS)
set(CMAKE_REQUIRED_LIBRARIES ${weft_mpi_link})
include(CheckCSourceCompiles)
unset(weft_mpi_is_${WEFT_MPI} CACHE)
if(WEFT_MPI STREQUAL "openmpi")
  set(probe "OPEN_MPI")
else()
  set(probe "MPICH_VERSION")
endif()
check_c_source_compiles("#include <mpi.h>
  #ifndef ${probe}
  #error another MPI
  #endif
  int main(void) { return MPI_Finalize(); }" weft_mpi_is_${WEFT_MPI})
unset(CMAKE_REQUIRED_FLAGS)
unset(CMAKE_REQUIRED_LIBRARIES)
if(NOT weft_mpi_is_${WEFT_MPI})
  message(FATAL_ERROR "WEFT_MPI=${WEFT_MPI}: what was found (${weft_mpi_found}) does not "
                      "build a program of that MPI; see CMakeFiles/CMakeError.log")
endif()
find_program(WEFT_MPIEXEC_${WEFT_MPI} NAMES ${launchers})
# In the cache, because the tests read it from another folder.
set(WEFT_MPIEXEC "" CACHE INTERNAL "launcher of the MPI of this build")
if(WEFT_MPIEXEC_${WEFT_MPI})
  set(WEFT_MPIEXEC ${WEFT_MPIEXEC_${WEFT_MPI}} CACHE INTERNAL "")
endif()
message(STATUS "MPI: ${WEFT_MPI}, from ${weft_mpi_found}")
