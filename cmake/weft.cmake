# SPDX-License-Identifier: Apache-2.0
# Settings every target shares.
set(CMAKE_C_STANDARD 17)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
# The build itself must not depend on where it is done.
add_compile_options(-ffile-prefix-map=${CMAKE_SOURCE_DIR}/=)

# Checks stay on in release builds: a run that would go wrong silently stops instead.
set(CMAKE_C_FLAGS_RELEASE "-O3")
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Release, RelWithDebInfo or Debug" FORCE)
endif()
add_compile_options(-Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes
                    -Wpointer-arith -Wvla -Wno-unused-parameter)
if(WEFT_WERROR)
  add_compile_options(-Werror)
endif()
if(WEFT_SANITIZE)
  # A sanitized test without optimisation takes minutes.
  add_compile_options(-fsanitize=${WEFT_SANITIZE} -fno-omit-frame-pointer
                      -fno-sanitize-recover=all -O2)
  add_link_options(-fsanitize=${WEFT_SANITIZE})
endif()
