// What a trained model answers, always the likeliest token: at places that are asked side by side, or written token by token.
#pragma once

#include <vector>

#include "sextant/train/batch.hpp"
#include "sextant/train/measures.hpp"

namespace sextant {

/// The answers to at most a batch of rows that are asked at the same places. Written answers are fed back token by token, at most `most` of
/// them. `first_logits`, where given, gets each row's logits at its first asked place, or at all of them where nothing is written.
std::vector<std::vector<Token>> answers(Machine& machine, const Transformer& model, std::vector<Presented> rows,
                                        std::vector<std::vector<Real>>* first_logits = nullptr, std::size_t most = SIZE_MAX);

/// Whether a task's answers can be written by this model: token by token behind what was read.
bool can_write(const Transformer& model, const Presented& row, const Task& task);

/// What the model writes by itself for these examples, at most a batch of them. A text is continued from the middle of each window on.
WrittenResult write_answers(Machine& machine, const Transformer& model, const Task& task, const std::vector<Example>& examples);

/// The asked tokens of pairs of examples that differ in order alone (Task::pair).
OrderResult answer_pairs(Machine& machine, const Transformer& model, const Task& task);

/// The same examples, at most a batch of them, with their sources in another order; what is asked stays, and so do the places. A front
/// token stays in front.
DisturbedOrder disturb_order(Machine& machine, const Transformer& model, const Task& task, const std::vector<Example>& examples);

}  // namespace sextant
