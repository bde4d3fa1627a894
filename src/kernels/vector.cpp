#include "sextant/kernels/vector.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "pack.hpp"

namespace sextant::vector {

namespace {

#if defined(__AVX512F__) && !defined(SEXTANT_DOUBLE)
#define SEXTANT_FLOAT_AVX512
#endif

/// The places of a vector.
Pack places() {
  alignas(64) Real numbers[lanes];
  for (Index i = 0; i < lanes; ++i) numbers[i] = static_cast<Real>(i);
  return Pack::load_aligned(numbers);
}

/// x with `filler` from place n on.
Pack first_of(const Pack& x, Index n, Real filler) { return xsimd::select(places() < Pack(static_cast<Real>(n)), x, Pack(filler)); }

/// The last, partial pack of a row, filled up with zeros, or with `filler`.
Pack partial(const Real* x, Index n) { return load_some(x, 0, n); }
Pack partial(const Real* x, Index n, Real filler) { return filler == 0 ? partial(x, n) : first_of(partial(x, n), n, filler); }

void store_partial(const Pack& value, Real* y, Index n) { store_some(value, y, 0, n); }

/// exp(x), within two units in the last place; 0 at -infinity, NaN at NaN.
#ifdef SEXTANT_FLOAT_AVX512
/// 2^n exp(r) with r = x - n ln 2, by the polynomial of Cephes' expf. AVX-512 rounds, and multiplies by 2^n without a look at the range,
/// in an instruction each; the library's has a few more for what every processor can.
Pack exponential(const Pack& x) {
  const Pack bounded = xsimd::max(Pack(-104.0F), x);  // this order, so that NaN passes
  const Pack n = _mm512_roundscale_ps(bounded * Pack(std::numbers::log2e_v<Real>), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  const Pack r = fma(n, Pack(2.12194440e-4F), fma(n, Pack(-0.693359375F), bounded));
  Pack sum = fma(Pack(1.9875691500e-4F), r, Pack(1.3981999507e-3F));
  sum = fma(sum, r, Pack(8.3334519073e-3F));
  sum = fma(sum, r, Pack(4.1665795894e-2F));
  sum = fma(sum, r, Pack(1.6666665459e-1F));
  sum = fma(sum, r, Pack(5.0000001201e-1F));
  return _mm512_scalef_ps(fma(sum, r * r, r) + Pack(1.0F), n);
}
#else
Pack exponential(const Pack& x) { return xsimd::exp(x); }
#endif

/// 1 / (1 + exp(x)), the logistic function of -x.
#ifdef SEXTANT_FLOAT_AVX512
/// An estimate of the quotient, and a step of Newton's: cheaper than a division. Beyond 80 it stays at 2e-35.
Pack logistic_of_negative(const Pack& x) {
  const Pack below = Pack(1.0F) + exponential(xsimd::min(Pack(80.0F), x)), estimate = _mm512_rcp14_ps(below);
  return fma(estimate, fma(-below, estimate, Pack(1.0F)), estimate);
}
#else
Pack logistic_of_negative(const Pack& x) { return Real{1} / (Real{1} + exponential(x)); }
#endif

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
  return sum_of_lanes(total);
}

Real dot(const Real* x, const Real* y, Index n) {
  Pack total(Real{0});
  Index i = 0;
  for (; i + lanes <= n; i += lanes) total = fma(Pack::load_unaligned(x + i), Pack::load_unaligned(y + i), total);
  if (i < n) total = fma(partial(x + i, n - i, 0), partial(y + i, n - i, 0), total);
  return sum_of_lanes(total);
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
    const Pack value = exponential(Pack::load_unaligned(x + i) - by);
    value.store_unaligned(y + i);
    total += value;
  }
  if (i < n) {
    const Index rest = n - i;
    store_partial(exponential(partial(x + i, rest, 0) - by), y + i, rest);
    total += partial(y + i, rest, 0);
  }
  return sum_of_lanes(total);
}

Index padded(Index n) { return (n + lanes - 1) / lanes * lanes; }

namespace {

/// x = exp(x - shift) for the first n numbers, 0 up to the stride; returns the sum.
Real exp_to(Real* x, Real shift, Index n, Index stride) {
  const Pack by(shift);
  Pack total(Real{0});
  Index i = 0;
  for (; i + lanes <= n; i += lanes) {
    const Pack value = exponential(Pack::load_unaligned(x + i) - by);
    value.store_unaligned(x + i);
    total += value;
  }
  if (i < n) {
    const Pack value = first_of(exponential(Pack::load_unaligned(x + i) - by), n - i, 0);
    value.store_unaligned(x + i);
    total += value;
    i += lanes;
  }
  for (; i < stride; i += lanes) Pack(Real{0}).store_unaligned(x + i);
  return sum_of_lanes(total);
}

}  // namespace

void exp_rows(Real* x, const Triangle& of, Normalizer* kept) {
  constexpr Real lowest = -std::numeric_limits<Real>::infinity();
  for (Index row = 0; row < of.rows; ++row, x += of.stride) {
    const Index n = of.count(row);
    Pack best(lowest);
    Index i = 0;
    for (; i + lanes <= n; i += lanes) best = xsimd::max(best, Pack::load_unaligned(x + i));
    if (i < n) best = xsimd::max(best, first_of(Pack::load_unaligned(x + i), n - i, lowest));
    const Real top = largest_lane(best);
    // Where there is nothing to see, a NaN, which a maximum may pass over, has to stay one.
    const Real sum = exp_to(x, top == lowest ? Real{0} : top, n, of.stride);
    kept[row] = {top, sum == 0 ? Real{0} : 1 / sum};
  }
}

void exp_rows_again(Real* x, const Triangle& of, const Normalizer* kept) {
  for (Index row = 0; row < of.rows; ++row, x += of.stride) {
    const Pack by(kept[row].largest), times(kept[row].inverse);
    const Index n = kept[row].inverse == 0 ? 0 : of.count(row);
    Index i = 0;
    for (; i + lanes <= n; i += lanes) (times * exponential(Pack::load_unaligned(x + i) - by)).store_unaligned(x + i);
    if (i < n) {
      first_of(times * exponential(Pack::load_unaligned(x + i) - by), n - i, 0).store_unaligned(x + i);
      i += lanes;
    }
    for (; i < of.stride; i += lanes) Pack(Real{0}).store_unaligned(x + i);
  }
}

void softmax_gradient(const Real* weights, Real* slopes, const Triangle& of) {
  for (Index row = 0; row < of.rows; ++row, weights += of.stride, slopes += of.stride) {
    const Index n = of.count(row);
    Pack total(Real{0});
    Index i = 0;
    for (; i + lanes <= n; i += lanes) total = fma(Pack::load_unaligned(weights + i), Pack::load_unaligned(slopes + i), total);
    if (i < n) total += first_of(Pack::load_unaligned(weights + i) * Pack::load_unaligned(slopes + i), n - i, 0);
    const Pack shared(sum_of_lanes(total));
    for (i = 0; i < of.stride; i += lanes) (Pack::load_unaligned(weights + i) * (Pack::load_unaligned(slopes + i) - shared)).store_unaligned(slopes + i);
  }
}

void hide(const std::uint8_t* flags, Real* x, Index n) {
  for (Index i = 0; i < n; ++i) x[i] = flags[i] == 0 ? -std::numeric_limits<Real>::infinity() : x[i];
}

Real log_sum_exp(const Real* x, Index n) {
  const Pack top(largest(x, n));
  Pack total(Real{0});
  Index i = 0;
  for (; i + lanes <= n; i += lanes) total += exponential(Pack::load_unaligned(x + i) - top);
  Real sum = sum_of_lanes(total);
  if (i < n) {
    alignas(64) Real last[lanes];
    exponential(partial(x + i, n - i, top.get(0)) - top).store_aligned(last);
    for (Index j = 0; j < n - i; ++j) sum += last[j];
  }
  return top.get(0) + std::log(sum);
}

void scaled_exp_shifted(const Real* x, Real shift, Real factor, Real* y, bool add, Index n) {
  const Pack by(shift), times(factor);
  Index i = 0;
  for (; i + lanes <= n; i += lanes) {
    const Pack value = times * exponential(Pack::load_unaligned(x + i) - by);
    (add ? Pack::load_unaligned(y + i) + value : value).store_unaligned(y + i);
  }
  if (i < n) {
    const Index rest = n - i;
    const Pack value = times * exponential(partial(x + i, rest, 0) - by);
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
  map(x, y, n, [](const Pack& v) { return logistic_of_negative(-v); });
}
void softplus(const Real* x, Real* y, Index n) {
  map(x, y, n, [](const Pack& v) { return xsimd::max(v, Pack(Real{0})) + xsimd::log1p(exponential(-xsimd::abs(v))); });
}
void log1p(const Real* x, Real* y, Index n) {
  map(x, y, n, [](const Pack& v) { return xsimd::log1p(v); });
}
void exp(const Real* x, Real* y, Index n) {
  map(x, y, n, [](const Pack& p) { return exponential(p); });
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
Pack gelu_gate(const Pack& p) { return logistic_of_negative(Real{-2} * gelu_scale * p * (Real{1} + gelu_cubic * p * p)); }

}  // namespace

void gelu_tanh(const Real* x, Real* y, Index n) {
  map(x, y, n, [](const Pack& p) { return p * gelu_gate(p); });
}

void gelu_gradient(const Real* x, const Real* dy, Real* dx, bool add, Real* y, Index n) {
  map_gradient(x, dy, dx, add, y, n, [](const Pack& p) {
    const Pack whole = Pack(Real{1}) + xsimd::erf(p * inverse_root_2);
    return AtPoint{p * half * whole, half * whole + p * inverse_root_2_pi * exponential(-half * p * p)};
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
