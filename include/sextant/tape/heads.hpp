// Views of heads: [B, H, T, d] whose numbers lie token by token, as [B, T, H, d], where a linear layer wrote them.
//
// Tape::as_heads makes such a view of [B, T, H d] and Tape::as_tokens takes it back, both without touching a number. Ops that say so
// (Op::views) read, or write, the rows where they lie, by the strides that a Run gives; for every other op the tape records the copy below
// first, once for each view. So attention and rotation move no heads, and the rest of the ops need not know.
#pragma once

#include "sextant/tape/row_op.hpp"

namespace sextant {

/// The copy: [B, T, H d] -> [B, H, T, d] (`splits`) or back. A row is a token: all heads of one place.
class CopyHeads final : public RowOp {
 public:
  CopyHeads(std::string_view name, bool splits, const Shape& heads)
      : name_(name), splits_(splits), batch_(heads[0]), heads_(heads[1]), length_(heads[2]), width_(heads[3]) {}

  std::string_view name() const override { return name_; }
  Index rows(const Run&) const override { return batch_ * length_; }
  void forward_rows(const Run& run, Index begin, Index end) const override { move(run.real(0), {run.output(), false}, splits_, begin, end); }
  void backward_rows(const Run& run, Index begin, Index end) const override { move(run.gradient(), run.sink(0), !splits_, begin, end); }

 private:
  void move(const Real* x, rows::Sink y, bool to_heads, Index begin, Index end) const;

  std::string_view name_;
  bool splits_;
  Index batch_, heads_, length_, width_;
};

}  // namespace sextant
