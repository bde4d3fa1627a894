// What a model remembers of the segments before (Transformer-XL): for each row of a batch the last hidden states that every layer was
// given, carried from one run of a Program to the next. No gradient goes through it: it is an input like any other.
//
//   Recurrence memory(model, rows, places);
//   memory.write(machine, rows);   // before a run: rows that start anew have forgotten
//   memory.take(machine);          // after it
#pragma once

#include <string>
#include <vector>

#include "sextant/train/batch.hpp"
#include "sextant/train/checkpoint.hpp"

namespace sextant {

class Recurrence {
 public:
  /// Empty memories of `places` tokens; 0: there is nothing to remember, and every call does nothing.
  Recurrence(const Transformer& model, Index rows, Index places);

  bool active() const { return places_ > 0; }

  /// Hands the memory to the Program. Rows whose example does not continue the one before forget first, and so do rows without one.
  void write(Machine& machine, const std::vector<Presented>& rows);
  /// Takes up what the run leaves: the last places of what was there and what was read.
  void take(const Machine& machine);

  /// All of it; `name` goes in front of the names. The values may be set.
  std::vector<StateTensor> state(const std::string& name);

 private:
  Index rows_, places_, width_;
  std::vector<std::vector<Real>> layers_;  ///< [rows, places, D], the newest last
  std::vector<Real> filled_;               ///< [rows]: how many of the places hold something
};

}  // namespace sextant
