// Who makes the matrix products of this process, and in which numbers: one choice for all of them.
//
// OpenBLAS is the default and always there. oneDNN is an option: it has to be built in, is loaded only when it is chosen, and
// also multiplies bf16 (8 significant bits, the range of float) where the processor can, with sums in float. Each has bits of
// its own, so every result names them.
//
//   use_products(Products::from("onednn", "bf16"));  // throws where that cannot be had
//   products_in_use().numbers();                     // "bf16"
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sextant {

struct Products {
  enum class Library { openblas, onednn };
  Library library = Library::openblas;
  bool bf16 = false;  ///< operands are rounded to bf16; what is added up, and what comes out, stays float

  /// What the settings train.gemm and train.precision say. Throws a usage Error for other words, and for a pair that does not
  /// go together: OpenBLAS multiplies no bf16, and a build in double has neither oneDNN nor bf16.
  static Products from(std::string_view gemm, std::string_view precision);

  /// "openblas" or "onednn".
  std::string gemm() const;
  /// What is multiplied: "float32", "float64" or "bf16".
  std::string numbers() const;

  bool operator==(const Products&) const = default;
};

/// The words that Products::from takes, the default first.
const std::vector<std::string>& product_libraries();
const std::vector<std::string>& product_precisions();

/// Chooses for all products from now on; not while some are being made. Throws a usage Error where the build, the machine or the
/// processor lacks what it takes.
void use_products(const Products& products);

Products products_in_use();

/// The kernel that the library in use chose for this processor, for instance "Haswell" or "avx512_core_bf16": with the library and
/// the numbers it fixes the bits of a result.
std::string product_kernel();

/// The library in use with its version.
std::string product_library();

}  // namespace sextant
