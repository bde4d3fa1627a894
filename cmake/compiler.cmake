# One interface target carries the flags of all our own sources.
add_library(sextant_flags INTERFACE)
target_compile_options(sextant_flags INTERFACE -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wnon-virtual-dtor
  # Vectorise freely, but never pretend that NaN and infinity do not exist: no -ffast-math. Nor fuse a product with a sum where the
  # source does not say so: the compiler would choose differently from place to place, and the same formula give other bits.
  -fno-math-errno -fno-trapping-math -ffp-contract=off)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # False alarms: bug 105651 on std::string's operator+, bug 105593 on GCC's own AVX-512 intrinsics.
  target_compile_options(sextant_flags INTERFACE -Wno-restrict -Wno-maybe-uninitialized -Wno-uninitialized)
endif()
if(SEXTANT_NATIVE)
  target_compile_options(sextant_flags INTERFACE -march=native)
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    # With AVX-512, GCC 12.2 makes eight ones of the constant {1, 1, 1, 1, 0, 0, 0, 0} when it vectorises straight-line code
    # (tests/base/compiler_test.cpp). Our own kernels say themselves how wide they are.
    target_compile_options(sextant_flags INTERFACE -fno-tree-slp-vectorize -mprefer-vector-width=256)
  endif()
endif()
if(SEXTANT_WARNINGS_AS_ERRORS)
  target_compile_options(sextant_flags INTERFACE -Werror)
endif()
if(SEXTANT_SANITIZE)
  target_compile_options(sextant_flags INTERFACE -fsanitize=${SEXTANT_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(sextant_flags INTERFACE -fsanitize=${SEXTANT_SANITIZE})
endif()
if(SEXTANT_DOUBLE)
  target_compile_definitions(sextant_flags INTERFACE SEXTANT_DOUBLE)
endif()
if(SEXTANT_POISON)
  target_compile_definitions(sextant_flags INTERFACE SEXTANT_POISON)
endif()
target_include_directories(sextant_flags INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:include>)
