// Faults of compilers that were met, kept as canaries: a build whose compiler has one must not pass.
#include <doctest/doctest.h>

#include <vector>

namespace {

/// Kept out of line, so that the caller has to write the constant to memory.
template <class T>
__attribute__((noinline)) T total(const std::vector<T>& values) {
  T sum = 0;
  for (const T value : values) sum += value;
  return sum;
}

}  // namespace

TEST_CASE("constants of two halves survive the compiler's vectoriser") {
  // GCC 12.2 with AVX-512 turned each of these into the first half, twice.
  CHECK(total(std::vector<double>{1, 1, 1, 1, 0, 0, 0, 0}) == 4);
  CHECK(total(std::vector<float>{1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0}) == 8);
  CHECK(total(std::vector<double>{1, 1, 0, 0}) == 2);
  CHECK(total(std::vector<int>{1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0}) == 8);
}
