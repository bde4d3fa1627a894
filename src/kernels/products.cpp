#include "sextant/kernels/products.hpp"

#include <algorithm>

#include <fmt/ranges.h>

#include "backend.hpp"
#include "sextant/base/error.hpp"

namespace sextant {

namespace {

Products in_use;
MakeProduct* chosen = openblas::product;

/// The word's place in the list.
std::size_t place_of(std::string_view word, const std::vector<std::string>& words) {
  const auto found = std::find(words.begin(), words.end(), word);
  require(found != words.end(), "\"{}\" makes no products; choose {}", word, fmt::join(words, " or "));
  return static_cast<std::size_t>(found - words.begin());
}

}  // namespace

const std::vector<std::string>& product_libraries() {
  static const std::vector<std::string> words = {"openblas", "onednn"};
  return words;
}

const std::vector<std::string>& product_precisions() {
  static const std::vector<std::string> words = {"float", "bf16"};
  return words;
}

Products Products::from(std::string_view gemm, std::string_view precision) {
  Products products;
  products.library = static_cast<Library>(place_of(gemm, product_libraries()));
  products.bf16 = place_of(precision, product_precisions()) == 1;
#ifdef SEXTANT_DOUBLE
  require(products == Products{}, "this build computes in double, which has gemm = \"openblas\" and precision = \"float\" only; use the release build");
#endif
  require(!products.bf16 || products.library == Library::onednn, "precision = \"bf16\" needs gemm = \"onednn\" (--gemm onednn): OpenBLAS multiplies no bf16");
  return products;
}

std::string Products::gemm() const { return product_libraries()[static_cast<std::size_t>(library)]; }

std::string Products::numbers() const { return bf16 ? "bf16" : sizeof(Real) == sizeof(float) ? "float32" : "float64"; }

void use_products(const Products& products) {
  const bool onednn = products.library == Products::Library::onednn;
  if (onednn) onednn::load(products.bf16);
  chosen = !onednn ? openblas::product : products.bf16 ? onednn::bf16_product : onednn::product;
  in_use = products;
}

Products products_in_use() { return in_use; }

MakeProduct* chosen_product() { return chosen; }

std::string product_kernel() { return in_use.library == Products::Library::onednn ? onednn::instruction_set() : blas_kernel(); }

std::string product_library() {
  if (in_use.library == Products::Library::onednn) return "oneDNN " + onednn::version();
  const std::string version = blas_version();  // "OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH ..."
  return version.substr(0, version.find(' ', version.find(' ') + 1));
}

}  // namespace sextant
