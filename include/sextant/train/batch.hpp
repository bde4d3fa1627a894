// Rows of presented examples, padded to one length, and their way into a Program.
#pragma once

#include <memory>
#include <vector>

#include "sextant/nn/model.hpp"
#include "sextant/tape/program.hpp"
#include "sextant/tasks/presentation.hpp"

namespace sextant {

/// A recorded model in planned memory, for one batch size and one length.
struct Machine {
  Recorded recorded;
  Extents extents;
  std::unique_ptr<Program> program;
};

/// Which numbers a batch gets: the training's or the evaluation's policy, and the address of their draws.
struct FeedNumbers {
  bool training = false;
  std::uint64_t seed = 0, step = 0;
};

/// Whether any stack gives each row numbers of its own.
bool numbers_by_row(const Transformer& model, bool training);

/// Records the model and seals it. `arena` is shared by the Programs that take turns.
Machine make_machine(const Transformer& model, ParameterStore& parameters, const Extents& extents, bool training, const std::shared_ptr<Arena>& arena);

/// Writes the rows into the Program's inputs: tokens, masks, positions, targets. Rows beyond the given ones are blank, and
/// count for nothing. Where rows are shorter than the Program they are padded on the given side. Returns the number of
/// targets that count.
Index feed(Machine& machine, const Transformer& model, const std::vector<Presented>& rows, bool pad_left, const FeedNumbers& numbers = {});

/// The same where each of the Program's rows holds several examples, which do not see each other.
Index feed_packed(Machine& machine, const Transformer& model, const std::vector<Presented>& examples, Index per_row, bool pad_left, const FeedNumbers& numbers);

/// The place in the Program's stream where a row's own place t lies.
Index place_in_stream(const Machine& machine, const Presented& row, Index t, bool pad_left);

/// The token with the largest logit at a place of a row, after a forward run.
Token predicted(const Machine& machine, Index row, Index place);

}  // namespace sextant
