# The outside libraries, each behind one file of ours (docs/libraries.md). All are Debian packages; ./dev installs them.
find_package(Threads REQUIRED)
find_package(TBB REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_package(HDF5 REQUIRED COMPONENTS C HL)

# libblas.so and cblas.h are alternatives that another package may own, so OpenBLAS is asked for by its own name.
find_library(SEXTANT_OPENBLAS NAMES openblas REQUIRED
  PATHS /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/openblas-pthread NO_DEFAULT_PATH)
find_path(SEXTANT_CBLAS_INCLUDE cblas.h REQUIRED
  PATHS /usr/include/${CMAKE_LIBRARY_ARCHITECTURE}/openblas-pthread NO_DEFAULT_PATH)
find_path(SEXTANT_XSIMD_INCLUDE xsimd/xsimd.hpp REQUIRED)
find_path(SEXTANT_TOML_INCLUDE toml++/toml.h REQUIRED)
find_path(SEXTANT_BOOST_INCLUDE boost/math/distributions/students_t.hpp REQUIRED)
find_path(SEXTANT_XXHASH_INCLUDE xxhash.h REQUIRED)
find_path(SEXTANT_UTF8PROC_INCLUDE utf8proc.h REQUIRED)
find_library(SEXTANT_UTF8PROC NAMES utf8proc REQUIRED)
find_path(SEXTANT_MD_INCLUDE sha256.h REQUIRED)
find_library(SEXTANT_MD NAMES md REQUIRED)

# oneDNN is an option: its headers suffice to build, and the library is opened only when a run chooses it. It has no products in double.
find_path(SEXTANT_DNNL_INCLUDE oneapi/dnnl/dnnl.h)
set(SEXTANT_ONEDNN OFF)
if(SEXTANT_DNNL_INCLUDE AND NOT SEXTANT_DOUBLE)
  set(SEXTANT_ONEDNN ON)
endif()
