#include "sextant/train/settings.hpp"

#include <cmath>
#include <numbers>

namespace sextant {

std::vector<Knob> train_knobs() {
  constexpr std::int64_t many = 1'000'000'000;
  return {
      Knob::integer("seed", 1, 0, std::int64_t{1} << 52, "of every random draw: first values, data, dropout"),
      Knob::integer("steps", 600, 0, many, "updates of the parameters; 0 in a derived run that is measured as it stands"),
      Knob::integer("batch", 64, 1, 65536, "sequences in a micro-batch"),
      Knob::integer("pack", 1, 1, 65536, "examples side by side in each sequence; they do not see each other, and each is numbered from its own start"),
      Knob::integer("accumulate", 1, 1, 65536, "micro-batches to an update; the loss is the mean over all their tokens"),
      Knob::positive("learning_rate", 2e-3, 0, 100, "AdamW's rate after the warm-up"),
      Knob::integer("warmup", 60, 0, many, "steps in which the rate grows linearly from 0"),
      Knob::choice("schedule", "cosine", {"cosine", "constant"}, "the rate after the warm-up"),
      Knob::number("final_rate", 0.1, 0, 1, "where the cosine ends, as a part of learning_rate"),
      Knob::number("weight_decay", 0.01, 0, 100, "decoupled; on matrices and embeddings only"),
      Knob::number("beta1", 0.9, 0, 0.999999, "decay of the gradient's running mean"),
      Knob::number("beta2", 0.98, 0, 0.999999, "decay of the squared gradient's running mean"),
      Knob::positive("epsilon", 1e-8, 0, 1, "added to the root of the squared gradient's mean"),
      Knob::number("clip", 1.0, 0, 1e9, "largest global norm of the gradient; 0: no clipping"),
      Knob::positive("position_learning_rate_factor", 1.0, 0, 1000, "multiplies the rate of position parameters, some of which must travel far"),
      Knob::choice("padding", "right", {"right", "left"}, "the side that is filled up where the rows of a batch differ in length"),
      Knob::integer("eval_every", 0, 0, many, "steps between evaluations; 0: at the end only"),
      Knob::integer("eval_examples", 512, 1, 10'000'000, "examples evaluated at each length (fewer where the test set is smaller)"),
      Knob::integer("checkpoint_every", 0, 0, many, "steps between checkpoints; 0: at the end, and when stopped"),
      Knob::choice("gemm", product_libraries().front(), product_libraries(), "the library of matrix products; it is part of what fixes the bits of a result"),
      Knob::choice("precision", product_precisions().front(), product_precisions(),
                   "of matrix products: bf16 rounds what is multiplied and adds up in float, by oneDNN, on processors with AVX512-BF16; all else stays float"),
      Knob::text("parent", "", "identity, settings and step of the run that this one was derived from; written by extend"),
      Knob::integer("log_every", 0, 0, many, "steps between lines in metrics.jsonl; 0: a hundredth of the steps"),
  };
}

TrainSettings TrainSettings::from(const Settings& s) {
  TrainSettings t;
  t.seed = static_cast<std::uint64_t>(s.integer("seed"));
  t.steps = s.integer("steps");
  t.batch = s.integer("batch");
  t.pack = s.integer("pack");
  t.accumulate = s.integer("accumulate");
  t.learning_rate = s.number("learning_rate");
  t.warmup = s.integer("warmup");
  t.cosine = s.text("schedule") == "cosine";
  t.final_rate = s.number("final_rate");
  t.weight_decay = s.number("weight_decay");
  t.beta1 = s.number("beta1");
  t.beta2 = s.number("beta2");
  t.epsilon = s.number("epsilon");
  t.clip = s.number("clip");
  t.position_learning_rate_factor = s.number("position_learning_rate_factor");
  t.pad_left = s.text("padding") == "left";
  t.eval_every = s.integer("eval_every");
  t.eval_examples = s.integer("eval_examples");
  t.checkpoint_every = s.integer("checkpoint_every");
  t.products = Products::from(s.text("gemm"), s.text("precision"));
  t.log_every = s.integer("log_every") > 0 ? s.integer("log_every") : std::max<std::int64_t>(1, t.steps / 100);
  return t;
}

double TrainSettings::rate(std::int64_t step) const {
  if (step < warmup) return learning_rate * static_cast<double>(step + 1) / static_cast<double>(warmup);
  if (!cosine || steps <= warmup + 1) return learning_rate;
  const double progress = static_cast<double>(step - warmup) / static_cast<double>(steps - 1 - warmup);
  return learning_rate * (final_rate + (1 - final_rate) * 0.5 * (1 + std::cos(std::numbers::pi * std::min(1.0, progress))));
}

}  // namespace sextant
