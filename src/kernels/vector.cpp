#include "sextant/kernels/vector.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include <xsimd/xsimd.hpp>

namespace sextant::vector {

namespace {

using Pack = xsimd::batch<Real>;
constexpr Index lanes = static_cast<Index>(Pack::size);

/// Copies the last, partial pack of a row to a full one filled up with `filler`.
Pack partial(const Real* x, Index n, Real filler) {
  alignas(64) Real buffer[lanes];
  std::fill(std::copy(x, x + n, buffer), buffer + lanes, filler);
  return Pack::load_aligned(buffer);
}

void store_partial(const Pack& value, Real* y, Index n) {
  alignas(64) Real buffer[lanes];
  value.store_aligned(buffer);
  std::copy(buffer, buffer + n, y);
}

Real largest_lane(const Pack& x) {
  alignas(64) Real buffer[lanes];
  x.store_aligned(buffer);
  return *std::max_element(buffer, buffer + lanes);
}

/// y = function(x) for every element, whole packs first, then a padded one: the same arithmetic for each element.
template <class Function>
void map(const Real* x, Real* y, Index n, const Function& function) {
  Index i = 0;
  for (; i + lanes <= n; i += lanes) function(Pack::load_unaligned(x + i)).store_unaligned(y + i);
  if (i < n) store_partial(function(partial(x + i, n - i, 0)), y + i, n - i);
}

/// What a function gives at one pack, and its derivative there.
struct AtPoint {
  Pack value, slope;
};

/// dx (+)= dy * slope(x); y = value(x) unless it is null.
template <class Function>
void map_gradient(const Real* x, const Real* dy, Real* dx, bool add, Real* y, Index n, const Function& function) {
  Index i = 0;
  for (; i + lanes <= n; i += lanes) {
    const AtPoint at = function(Pack::load_unaligned(x + i));
    const Pack made = Pack::load_unaligned(dy + i) * at.slope;
    (add ? Pack::load_unaligned(dx + i) + made : made).store_unaligned(dx + i);
    if (y != nullptr) at.value.store_unaligned(y + i);
  }
  if (i < n) {
    const Index rest = n - i;
    const AtPoint at = function(partial(x + i, rest, 0));
    const Pack made = partial(dy + i, rest, 0) * at.slope;
    store_partial(add ? partial(dx + i, rest, 0) + made : made, dx + i, rest);
    if (y != nullptr) store_partial(at.value, y + i, rest);
  }
}

constexpr Real half = Real{0.5};
constexpr Real inverse_root_2 = static_cast<Real>(std::numbers::sqrt2 / 2);
constexpr Real inverse_root_2_pi = static_cast<Real>(std::numbers::inv_sqrtpi * std::numbers::sqrt2 / 2);
constexpr Real gelu_scale = static_cast<Real>(2 * std::numbers::inv_sqrtpi * std::numbers::sqrt2 / 2);  // sqrt(2 / pi)
constexpr Real gelu_cubic = static_cast<Real>(0.044715);

}  // namespace

Real sum(const Real* x, Index n) {
  Pack total(Real{0});
  Index i = 0;
  for (; i + lanes <= n; i += lanes) total += Pack::load_unaligned(x + i);
  if (i < n) total += partial(x + i, n - i, 0);
  return xsimd::hadd(total);
}

Real dot(const Real* x, const Real* y, Index n) {
  Pack total(Real{0});
  Index i = 0;
  for (; i + lanes <= n; i += lanes) total = xsimd::fma(Pack::load_unaligned(x + i), Pack::load_unaligned(y + i), total);
  if (i < n) total = xsimd::fma(partial(x + i, n - i, 0), partial(y + i, n - i, 0), total);
  return xsimd::hadd(total);
}

void normalize(const Real* x, Real mean, Real scale, const Real* weight, const Real* bias, Real* y, Index n) {
  const Pack centre(mean), by(scale);
  const auto one = [&](const Pack& px, const Pack& pw, const Pack& pb) { return (px - centre) * by * pw + pb; };
  Index i = 0;
  for (; i + lanes <= n; i += lanes) one(Pack::load_unaligned(x + i), Pack::load_unaligned(weight + i), Pack::load_unaligned(bias + i)).store_unaligned(y + i);
  if (i < n) store_partial(one(partial(x + i, n - i, 0), partial(weight + i, n - i, 0), partial(bias + i, n - i, 0)), y + i, n - i);
}

Real squared_distance(const Real* x, Real mean, Index n) {
  const Pack centre(mean);
  Pack total(Real{0});
  const auto take = [&](const Pack& p) { total = xsimd::fma(p - centre, p - centre, total); };
  Index i = 0;
  for (; i + lanes <= n; i += lanes) take(Pack::load_unaligned(x + i));
  if (i < n) take(partial(x + i, n - i, mean));
  return xsimd::hadd(total);
}

NormSums norm_sums(const Real* x, const Real* weight, Real mean, const Real* dy, Index n) {
  Pack level(Real{0}), along(Real{0});
  const Pack centre(mean);
  const auto take = [&](const Pack& px, const Pack& pw, const Pack& pdy) {
    const Pack g = pdy * pw;
    level += g;
    along = xsimd::fma(g, px - centre, along);
  };
  Index i = 0;
  for (; i + lanes <= n; i += lanes) take(Pack::load_unaligned(x + i), Pack::load_unaligned(weight + i), Pack::load_unaligned(dy + i));
  if (i < n) take(partial(x + i, n - i, 0), partial(weight + i, n - i, 0), partial(dy + i, n - i, 0));
  return {xsimd::hadd(level), xsimd::hadd(along)};
}

Real largest(const Real* x, Index n) {
  constexpr Real lowest = -std::numeric_limits<Real>::infinity();
  Pack best(lowest);
  Index i = 0;
  for (; i + lanes <= n; i += lanes) best = xsimd::max(best, Pack::load_unaligned(x + i));
  if (i < n) best = xsimd::max(best, partial(x + i, n - i, lowest));
  return largest_lane(best);
}

Real exp_shifted(const Real* x, Real shift, Real* y, Index n) {
  const Pack by(shift);
  Pack total(Real{0});
  Index i = 0;
  for (; i + lanes <= n; i += lanes) {
    const Pack value = xsimd::exp(Pack::load_unaligned(x + i) - by);
    value.store_unaligned(y + i);
    total += value;
  }
  if (i < n) {
    const Index rest = n - i;
    store_partial(xsimd::exp(partial(x + i, rest, 0) - by), y + i, rest);
    total += partial(y + i, rest, 0);
  }
  return xsimd::hadd(total);
}

Index padded(Index n) { return (n + lanes - 1) / lanes * lanes; }

namespace {

/// The places of a vector.
Pack places() {
  alignas(64) Real numbers[lanes];
  for (Index i = 0; i < lanes; ++i) numbers[i] = static_cast<Real>(i);
  return Pack::load_aligned(numbers);
}

/// x with `filler` from place n on.
Pack first_of(const Pack& x, Index n, Real filler) { return xsimd::select(places() < Pack(static_cast<Real>(n)), x, Pack(filler)); }

/// x = exp(x - shift) for the first n numbers, 0 up to the stride; returns the sum.
Real exp_to(Real* x, Real shift, Index n, Index stride) {
  const Pack by(shift);
  Pack total(Real{0});
  Index i = 0;
  for (; i + lanes <= n; i += lanes) {
    const Pack value = xsimd::exp(Pack::load_unaligned(x + i) - by);
    value.store_unaligned(x + i);
    total += value;
  }
  if (i < n) {
    const Pack value = first_of(xsimd::exp(Pack::load_unaligned(x + i) - by), n - i, 0);
    value.store_unaligned(x + i);
    total += value;
    i += lanes;
  }
  for (; i < stride; i += lanes) Pack(Real{0}).store_unaligned(x + i);
  return xsimd::hadd(total);
}

}  // namespace

Exponentials exp_row(Real* x, Index n, Index stride) {
  constexpr Real lowest = -std::numeric_limits<Real>::infinity();
  Pack best(lowest);
  Index i = 0;
  for (; i + lanes <= n; i += lanes) best = xsimd::max(best, Pack::load_unaligned(x + i));
  if (i < n) best = xsimd::max(best, first_of(Pack::load_unaligned(x + i), n - i, lowest));
  const Real top = largest_lane(best);
  if (top == lowest) {
    // Nothing to see; a NaN, which a maximum may pass over, has to stay one.
    const Real sum = exp_to(x, 0, n, stride);
    return {lowest, sum};
  }
  return {top, exp_to(x, top, n, stride)};
}

void scaled_exp_row(Real* x, Real shift, Real factor, Index n, Index stride) {
  const Pack by(shift), times(factor);
  if (factor == 0) n = 0;
  Index i = 0;
  for (; i + lanes <= n; i += lanes) (times * xsimd::exp(Pack::load_unaligned(x + i) - by)).store_unaligned(x + i);
  if (i < n) {
    first_of(times * xsimd::exp(Pack::load_unaligned(x + i) - by), n - i, 0).store_unaligned(x + i);
    i += lanes;
  }
  for (; i < stride; i += lanes) Pack(Real{0}).store_unaligned(x + i);
}

void softmax_gradient(const Real* weights, Real* slopes, Index n, Index stride) {
  Pack total(Real{0});
  Index i = 0;
  for (; i + lanes <= n; i += lanes) total += Pack::load_unaligned(weights + i) * Pack::load_unaligned(slopes + i);
  if (i < n) total += first_of(Pack::load_unaligned(weights + i) * Pack::load_unaligned(slopes + i), n - i, 0);
  const Pack shared(xsimd::hadd(total));
  for (i = 0; i < stride; i += lanes) (Pack::load_unaligned(weights + i) * (Pack::load_unaligned(slopes + i) - shared)).store_unaligned(slopes + i);
}

void hide(const std::uint8_t* flags, Real* x, Index n) {
  for (Index i = 0; i < n; ++i) x[i] = flags[i] == 0 ? -std::numeric_limits<Real>::infinity() : x[i];
}

Real log_sum_exp(const Real* x, Index n) {
  const Pack top(largest(x, n));
  Pack total(Real{0});
  Index i = 0;
  for (; i + lanes <= n; i += lanes) total += xsimd::exp(Pack::load_unaligned(x + i) - top);
  Real sum = xsimd::hadd(total);
  if (i < n) {
    alignas(64) Real last[lanes];
    xsimd::exp(partial(x + i, n - i, top.get(0)) - top).store_aligned(last);
    for (Index j = 0; j < n - i; ++j) sum += last[j];
  }
  return top.get(0) + std::log(sum);
}

void scaled_exp_shifted(const Real* x, Real shift, Real factor, Real* y, bool add, Index n) {
  const Pack by(shift), times(factor);
  Index i = 0;
  for (; i + lanes <= n; i += lanes) {
    const Pack value = times * xsimd::exp(Pack::load_unaligned(x + i) - by);
    (add ? Pack::load_unaligned(y + i) + value : value).store_unaligned(y + i);
  }
  if (i < n) {
    const Index rest = n - i;
    const Pack value = times * xsimd::exp(partial(x + i, rest, 0) - by);
    store_partial(add ? partial(y + i, rest, 0) + value : value, y + i, rest);
  }
}

void scale(const Real* x, Real factor, Real* y, Index n) {
  for (Index i = 0; i < n; ++i) y[i] = x[i] * factor;
}

void add(const Real* x, Real* y, Index n) {
  for (Index i = 0; i < n; ++i) y[i] += x[i];
}

void add_scaled(const Real* x, Real factor, Real* y, Index n) {
  for (Index i = 0; i < n; ++i) y[i] += x[i] * factor;
}

void sigmoid(const Real* x, Real* y, Index n) {
  map(x, y, n, [](const Pack& v) { return Real{1} / (Real{1} + xsimd::exp(-v)); });
}
void softplus(const Real* x, Real* y, Index n) {
  map(x, y, n, [](const Pack& v) { return xsimd::max(v, Pack(Real{0})) + xsimd::log1p(xsimd::exp(-xsimd::abs(v))); });
}
void log1p(const Real* x, Real* y, Index n) {
  map(x, y, n, [](const Pack& v) { return xsimd::log1p(v); });
}
void exp(const Real* x, Real* y, Index n) {
  map(x, y, n, [](const Pack& p) { return xsimd::exp(p); });
}

void tanh(const Real* x, Real* y, Index n) {
  map(x, y, n, [](const Pack& p) { return xsimd::tanh(p); });
}

void erf(const Real* x, Real* y, Index n) {
  map(x, y, n, [](const Pack& p) { return xsimd::erf(p); });
}

void gelu(const Real* x, Real* y, Index n) {
  map(x, y, n, [](const Pack& p) { return p * half * (Pack(Real{1}) + xsimd::erf(p * inverse_root_2)); });
}

namespace {

/// x / 2 (1 + tanh(u)) = x s(2 u) with the logistic function s: one exponential instead of a tanh.
Pack gelu_gate(const Pack& p) { return Real{1} / (Real{1} + xsimd::exp(Real{-2} * gelu_scale * p * (Real{1} + gelu_cubic * p * p))); }

}  // namespace

void gelu_tanh(const Real* x, Real* y, Index n) {
  map(x, y, n, [](const Pack& p) { return p * gelu_gate(p); });
}

void gelu_gradient(const Real* x, const Real* dy, Real* dx, bool add, Real* y, Index n) {
  map_gradient(x, dy, dx, add, y, n, [](const Pack& p) {
    const Pack whole = Pack(Real{1}) + xsimd::erf(p * inverse_root_2);
    return AtPoint{p * half * whole, half * whole + p * inverse_root_2_pi * xsimd::exp(-half * p * p)};
  });
}

void gelu_tanh_gradient(const Real* x, const Real* dy, Real* dx, bool add, Real* y, Index n) {
  map_gradient(x, dy, dx, add, y, n, [](const Pack& p) {
    const Pack gate = gelu_gate(p), slope = gelu_scale * (Real{1} + Real{3} * gelu_cubic * p * p);
    return AtPoint{p * gate, gate + Real{2} * p * gate * (Real{1} - gate) * slope};
  });
}

void adamw(const AdamStep& step, Real* parameter, const Real* gradient, Real* first_moment, Real* second_moment, Index n) {
  const auto factor = static_cast<Real>(step.gradient_factor);
  const auto beta1 = static_cast<Real>(step.beta1), rest1 = static_cast<Real>(1 - step.beta1);
  const auto beta2 = static_cast<Real>(step.beta2), rest2 = static_cast<Real>(1 - step.beta2);
  const auto keep = static_cast<Real>(1 - step.rate * step.decay);
  const auto rate = static_cast<Real>(step.rate / step.correction1);
  const auto spread = static_cast<Real>(1 / std::sqrt(step.correction2));
  const auto epsilon = static_cast<Real>(step.epsilon);
  for (Index i = 0; i < n; ++i) {
    const Real g = gradient[i] * factor;
    const Real m = beta1 * first_moment[i] + rest1 * g;
    const Real v = beta2 * second_moment[i] + rest2 * g * g;
    first_moment[i] = m;
    second_moment[i] = v;
    parameter[i] = parameter[i] * keep - rate * m / (std::sqrt(v) * spread + epsilon);
  }
}

Index width() { return lanes; }

const char* instruction_set() { return xsimd::default_arch::name(); }

}  // namespace sextant::vector
