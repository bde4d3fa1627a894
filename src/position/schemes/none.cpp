// No position at all ("NoPE": Haviv et al. 2022, 2203.16634; Kazemnejad et al. 2023, 2305.19466).
//
// Overrides no hook. Without a causal mask the network is permutation-equivariant: reordering the words reorders the
// outputs and changes nothing else, so no question of order can be answered. Under a causal mask order leaks in, since a
// later token sees more: one layer is blind to the order of the past, two are not.
// Past the trained length: nothing is undefined, but attention spreads over more and more keys.
#include "sextant/position/scheme.hpp"

namespace sextant {

namespace schemes {

SchemeEntry none() {
  return {
      .name = "none",
      .summary = "no position: order is seen only through a causal mask",
      .paper = "Haviv et al. 2022 (2203.16634), Kazemnejad et al. 2023 (2305.19466)",
      .formula = "score(i, j) = q_i . k_j / sqrt(d)",
      .acts = "nowhere",
      .kind = "none",
      .learned = "nothing",
      .cache = "key",
      .cost = "none",
      .beyond = "defined everywhere; attention spreads thinner over more keys",
      .claims = {.reads_positions = false, .relative = true, .order_blind = true, .reversal_blind = true, .zero_is_none = true},
      .knobs = {},
      .make = [](const Settings&) { return std::make_unique<NoBias>(); },
  };
}

}  // namespace schemes
}  // namespace sextant
