#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#ifdef __SANITIZE_ADDRESS__
// HDF5 1.10 itself loses a few hundred bytes when it refuses a damaged file.
extern "C" const char* __lsan_default_suppressions() { return "leak:libhdf5_serial\n"; }
#endif
