#include "sextant/base/kind.hpp"

#include "sextant/base/error.hpp"

namespace sextant {

const std::vector<std::string>& kind_names() {
  static const std::vector<std::string> names = {"encoder", "decoder", "seq2seq"};
  return names;
}

const std::string& kind_name(Kind kind) { return kind_names()[static_cast<std::size_t>(kind)]; }

Kind kind_of(std::string_view name) {
  for (std::size_t i = 0; i < kind_names().size(); ++i)
    if (kind_names()[i] == name) return static_cast<Kind>(i);
  fail(ErrorKind::usage, "there is no kind \"{}\" of transformer; encoder, decoder and seq2seq are there", name);
}

}  // namespace sextant
