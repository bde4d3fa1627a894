// The parameters of a model by their dotted names, in one block: values and gradients are flat arrays, so that the
// optimizer is one loop and a checkpoint one list.
//
// A parameter's first value is drawn by its name, so adding one scheme's tables changes nobody else's weights.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sextant/base/shape.hpp"

namespace sextant {

/// How a parameter's first values are drawn.
struct Initial {
  double mean = 0;
  double deviation = 0;                                   ///< of a normal distribution; 0 gives the constant `mean`
  std::function<double(double uniform)> of_uniform = {};  ///< where given, the value is this function of a draw from (0, 1)

  static Initial constant(double value) { return {value, 0}; }
  static Initial normal(double deviation) { return {0, deviation}; }
  static Initial from_uniform(std::function<double(double)> function) { return {0, 0, std::move(function)}; }
};

/// What a parameter is for; it decides about weight decay and the learning rate.
enum class Role {
  weight,  ///< matrices, embeddings: the only ones that decay
  bias,
  norm,
  position,  ///< everything of a position scheme, known by ".position." in its name
};

struct Parameter {
  std::string name;
  Shape shape;
  Role role = Role::weight;
  Index offset = 0;  ///< where it starts in the flat arrays
  Index count = 0;

  bool decays() const { return role == Role::weight; }
};

class ParameterStore {
 public:
  explicit ParameterStore(std::uint64_t seed) : seed_(seed) {}

  /// The number of the parameter of this name, declared now if it is new. Throws when the name was declared with another
  /// shape.
  int declare(std::string_view name, const Shape& shape, Initial initial, Role role);

  /// The number of the parameter of this name, or -1.
  int find(std::string_view name) const;

  /// All parameters in the order of their declaration.
  const std::vector<Parameter>& list() const { return list_; }
  const Parameter& operator[](int number) const { return list_[static_cast<std::size_t>(number)]; }

  std::span<Real> value(int number) { return part(values_, number); }
  std::span<Real> gradient(int number) { return part(gradients_, number); }

  /// The flat arrays. Between parameters lie unused zeros, since each starts at a multiple of 64 bytes.
  std::span<Real> values() { return values_; }
  std::span<Real> gradients() { return gradients_; }

  void clear_gradients();

  /// The number of trainable values, padding not counted.
  Index count() const;

  std::uint64_t seed() const { return seed_; }

 private:
  std::span<Real> part(std::vector<Real>& array, int number) {
    const Parameter& parameter = (*this)[number];
    return std::span<Real>(array).subspan(static_cast<std::size_t>(parameter.offset), static_cast<std::size_t>(parameter.count));
  }

  std::uint64_t seed_;
  std::vector<Parameter> list_;
  std::map<std::string, int, std::less<>> by_name_;
  std::vector<Real> values_, gradients_;
};

}  // namespace sextant
