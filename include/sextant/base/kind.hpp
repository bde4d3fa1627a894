// The three kinds of transformer.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sextant {

enum class Kind {
  encoder,  ///< every token sees every other
  decoder,  ///< causal: a token sees itself and the past
  seq2seq,  ///< an encoder reads, a decoder with cross-attention writes
};

/// "encoder", "decoder", "seq2seq"
const std::vector<std::string>& kind_names();
const std::string& kind_name(Kind kind);
/// Throws a usage Error for any other name.
Kind kind_of(std::string_view name);

}  // namespace sextant
