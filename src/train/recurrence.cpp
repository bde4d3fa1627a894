#include "sextant/train/recurrence.hpp"

#include <algorithm>

namespace sextant {

Recurrence::Recurrence(const Transformer& model, Index rows, Index places) : rows_(rows), places_(places), width_(model.model().dim) {
  if (!active()) return;
  layers_.resize(static_cast<std::size_t>(model.model().layers), std::vector<Real>(static_cast<std::size_t>(rows * places * width_)));
  filled_.resize(static_cast<std::size_t>(rows));
}

void Recurrence::write(Machine& machine, const std::vector<Presented>& rows) {
  if (!active()) return;
  const Index keys = places_ + machine.extents.length;
  const auto mask = machine.program->input(machine.recorded.memory.mask);
  std::fill(mask.begin(), mask.end(), std::uint8_t{1});
  for (Index row = 0; row < rows_; ++row) {
    const auto at = static_cast<std::size_t>(row);
    if (at >= rows.size() || !rows[at].continues) filled_[at] = 0;
    std::fill_n(mask.begin() + row * keys, places_ - static_cast<Index>(filled_[at]), std::uint8_t{0});
  }
  for (std::size_t i = 0; i < layers_.size(); ++i)
    std::copy(layers_[i].begin(), layers_[i].end(), machine.program->input(machine.recorded.memory.layers[i].before).begin());
}

void Recurrence::take(const Machine& machine) {
  if (!active()) return;
  const Index length = machine.extents.length, taken = std::min(length, places_), kept = places_ - taken;
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const auto hidden = machine.program->read(machine.recorded.memory.layers[i].hidden);
    for (Index row = 0; row < rows_; ++row) {
      Real* const own = layers_[i].data() + row * places_ * width_;
      std::copy(own + taken * width_, own + places_ * width_, own);
      std::copy_n(hidden.data() + ((row + 1) * length - taken) * width_, taken * width_, own + kept * width_);
    }
  }
  for (Real& filled : filled_) filled = static_cast<Real>(std::min(places_, static_cast<Index>(filled) + length));
}

std::vector<StateTensor> Recurrence::state(const std::string& name) {
  std::vector<StateTensor> all;
  if (!active()) return all;
  all.push_back({name + ".filled", {rows_}, filled_});
  for (std::size_t i = 0; i < layers_.size(); ++i) all.push_back({fmt::format("{}.layers.{}", name, i), {rows_, places_, width_}, layers_[i]});
  return all;
}

}  // namespace sextant
