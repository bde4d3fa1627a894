#include "sextant/position/numbering.hpp"

#include <algorithm>
#include <set>

#include "sextant/base/random.hpp"

namespace sextant {

namespace {

constexpr std::int64_t most = std::int64_t{1} << 52;

std::vector<Knob> knobs_with(std::string initial, std::vector<std::string> policies) {
  return {
      Knob::choice("policy", std::move(initial), std::move(policies), "how the tokens of a sequence are numbered"),
      Knob::integer("offset", 0, 0, most, "the first token's number under the policy \"offset\""),
      Knob::integer("max_shift", 0, 0, most, "the largest random offset under \"shape\" and \"coupled\""),
      Knob::integer("range", 0, 0, most, "\"randomized\" draws from 0 to range - 1; at least the longest evaluated length"),
      Knob::choice("per", "sequence", {"sequence", "batch"}, "\"randomized\" draws for each sequence, or once for the whole batch"),
      Knob::flag("real", false, "\"randomized\" draws real numbers, not whole ones"),
  };
}

}  // namespace

std::vector<Knob> Numbering::knobs() { return knobs_with("sequential", {"sequential", "offset", "shape", "randomized", "coupled"}); }

std::vector<Knob> Numbering::eval_knobs() { return knobs_with("as_trained", {"as_trained", "sequential", "offset", "shape", "randomized", "coupled"}); }

Numbering Numbering::from(const Settings& settings) {
  Numbering n;
  n.policy = settings.text("policy");
  n.offset = settings.integer("offset");
  n.max_shift = settings.integer("max_shift");
  n.range = settings.integer("range");
  n.per_batch = settings.text("per") == "batch";
  n.real = settings.flag("real");
  const auto belongs = [&](bool set, std::string_view key, std::initializer_list<std::string_view> policies) {
    const bool here = std::find(policies.begin(), policies.end(), n.policy) != policies.end();
    require(!set || here, "{} has no effect under the policy \"{}\"; set policy = \"{}\"", key, n.policy, *policies.begin());
  };
  belongs(n.offset != 0, "offset", {"offset"});
  belongs(n.max_shift != 0, "max_shift", {"shape", "coupled"});
  belongs(n.range != 0, "range", {"randomized"});
  belongs(n.per_batch, "per", {"randomized"});
  belongs(n.real, "real", {"randomized"});
  require(n.policy != "randomized" || n.range > 0, "the policy \"randomized\" needs range, the count of numbers to draw from; for instance range = 2048");
  return n;
}

Numbering Numbering::evaluated(const Settings& eval) const {
  if (eval.text("policy") != "as_trained") return from(eval);
  Settings own = eval;
  own.set("policy", std::string("sequential"));
  from(own);  // refuses keys without a policy
  Numbering n = *this;
  if (policy == "shape") n.policy = "sequential";
  n.max_shift = 0;
  return n;
}

double Numbering::largest(Index length) const {
  if (length == 0) return -1;
  if (policy == "randomized") return static_cast<double>(real ? range : range - 1);  // real ones come as near to the range as one likes
  return static_cast<double>(offset + max_shift + length - (policy == "coupled" ? 0 : 1));
}

Index Numbering::distances(Index rows, Index queries, Index keys) const {
  if (policy != "randomized") return std::max<Index>(1, queries + keys - 1);
  const Index pairs = std::max<Index>(1, (per_batch ? 1 : rows) * queries * keys);
  return real ? pairs : std::min<Index>(pairs, 2 * range - 1);
}

std::vector<double> Numbering::numbers(std::size_t count, const NumberDraw& draw, std::span<const std::int32_t> coupled) const {
  Dice dice(draw.seed, fmt::format("numbering/{}/{}", draw.stream, per_batch ? 0 : draw.row), draw.step);
  std::vector<double> result;
  if (policy == "randomized") {
    require(static_cast<double>(count) <= static_cast<double>(range),
            "{} tokens, but the numbering draws from {} numbers (0 to {}); raise position.numbering.range", count, range, range - 1);
    if (real) {
      for (std::size_t i = 0; i < count; ++i) result.push_back(dice.uniform() * static_cast<double>(range));
      std::sort(result.begin(), result.end());
    } else {  // Floyd's way: a set of `count` without replacement, each set as likely as any other
      std::set<std::int64_t> chosen;
      for (std::int64_t last = range - static_cast<std::int64_t>(count); last < range; ++last) {
        const Index drawn = dice.between(0, last);
        chosen.insert(chosen.contains(drawn) ? last : drawn);
      }
      result.assign(chosen.begin(), chosen.end());
    }
    return result;
  }
  const std::int64_t shift = offset + (max_shift > 0 ? dice.between(0, max_shift) : 0);
  if (policy == "coupled") require(coupled.size() == count, "the policy \"coupled\" needs numbers from the task, and this one gives none for {} tokens", count);
  for (std::size_t i = 0; i < count; ++i) result.push_back(static_cast<double>(shift + (policy == "coupled" ? coupled[i] : static_cast<std::int64_t>(i))));
  return result;
}

void Numbering::number(std::span<const std::uint8_t> mask, std::span<double> positions, const NumberDraw& draw, std::span<const std::int32_t> coupled) const {
  const auto real_token = [&](std::size_t t) { return mask.empty() || mask[t] != 0; };
  std::size_t count = 0;
  for (std::size_t t = 0; t < positions.size(); ++t) count += real_token(t);
  // One draw for the batch covers the longest row, so that the i-th token of every row has the i-th number.
  const std::vector<double> drawn = numbers(policy == "randomized" && per_batch ? positions.size() : count, draw, coupled);
  std::size_t counted = 0;
  for (std::size_t t = 0; t < positions.size(); ++t) {
    counted += real_token(t);
    positions[t] = drawn.empty() ? 0 : drawn[counted == 0 ? 0 : counted - 1];
  }
}

}  // namespace sextant
