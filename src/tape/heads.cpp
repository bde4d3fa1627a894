#include "sextant/tape/heads.hpp"

#include <algorithm>

#include "sextant/base/error.hpp"
#include "sextant/tape/tape.hpp"

namespace sextant {

void CopyHeads::move(const Real* x, rows::Sink y, bool to_heads, Index begin, Index end) const {
  for (Index token = begin; token < end; ++token)
    for (Index h = 0; h < heads_; ++h) {
      const Index together = (token * heads_ + h) * width_, apart = ((token / length_ * heads_ + h) * length_ + token % length_) * width_;
      const Real* from = x + (to_heads ? together : apart);
      Real* to = y.data + (to_heads ? apart : together);
      if (y.add)
        for (Index i = 0; i < width_; ++i) to[i] += from[i];
      else
        std::copy_n(from, width_, to);
    }
}

namespace {

/// With one head, or one token, both orders are the same.
bool orders_differ(const Shape& heads) { return heads[1] > 1 && heads[2] > 1; }

}  // namespace

Tensor Tape::as_heads(Tensor x, Index heads) {
  const Shape s = shape(x);
  require(s.rank() == 3 && heads >= 1 && s[2] % heads == 0, "split_heads: {} does not split into {} heads", s.text(), heads);
  Value view = graph_[x.id];
  view.shape = Shape{s[0], heads, s[1], s[2] / heads};
  view.by_token = orders_differ(view.shape);
  return {add_value(std::move(view))};
}

Tensor Tape::as_tokens(Tensor x) {
  const Shape s = shape(x);
  require(s.rank() == 4, "merge_heads: takes [B, H, T, d], not {}", s.text());
  const Shape tokens{s[0], s[2], s[1] * s[3]};
  if (!graph_[x.id].by_token && orders_differ(s)) return record(std::make_unique<CopyHeads>("merge_heads", false, s), {x}, tokens);
  Value whole = graph_[x.id];
  whole.shape = tokens;
  whole.by_token = false;
  whole.in_order = -1;
  return {add_value(std::move(whole))};
}

Tensor Tape::in_order(Tensor x) {
  if (!graph_[x.id].by_token) return x;
  if (graph_[x.id].in_order < 0) {
    const Tensor tokens = as_tokens(x);
    const Tensor copy = record(std::make_unique<CopyHeads>("split_heads", true, shape(x)), {tokens}, shape(x));
    graph_.values[static_cast<std::size_t>(x.id)].in_order = copy.id;
  }
  return {graph_[x.id].in_order};
}

}  // namespace sextant
