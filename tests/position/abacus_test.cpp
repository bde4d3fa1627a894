// The abacus table: which row a token gets, that it stands beside any scheme, in every kind of model, written with a cache as read at
// once, and what is refused.
#include "sextant/position/abacus.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "sextant/experiment/assembly.hpp"
#include "sextant/train/generation.hpp"
#include "sextant/train/trainer.hpp"

using namespace sextant;

namespace {

Assembly assembled(const std::string& kind, const std::string& scheme, const std::string& abacus, const std::string& rest = "") {
  return assemble(resolve({parse_layer("[model]\nlayers = 1\ndim = 16\nheads = 2\nffn_dim = 32\nkind = \"" + kind + "\"\n[position]\nscheme = \"" + scheme +
                                           "\"\n[position.abacus]\n" + abacus + "\n[task]\nname = \"reverse\"\ntrain_length = [2, 5]\neval_lengths = [3, 6]\n" +
                                           "[train]\nsteps = 3\nbatch = 4\neval_examples = 8\n" + rest,
                                       "e.toml")}));
}

std::string refusal(const std::string& kind, const std::string& abacus) {
  try {
    assembled(kind, "fire", abacus);
  } catch (const Error& error) {
    return error.kind() == ErrorKind::usage ? error.what() : "";
  }
  return "";
}

bool contains(const std::string& text, std::initializer_list<const char*> parts) {
  return std::ranges::all_of(parts, [&](const char* part) { return text.find(part) != std::string::npos; });
}

}  // namespace

TEST_CASE("a digit's row is its place plus one offset for the whole example, and what is no digit stays at row 0") {
  const Abacus abacus{.rows = 30, .max_shift = 20};
  const std::vector<std::int32_t> places = {0, 1, 2, 3, 0, 3, 2, 1};
  std::set<double> shifts;
  for (std::uint64_t row = 0; row < 200; ++row) {
    std::vector<double> rows(places.size()), again(places.size());
    abacus.number(places, true, {.seed = 1, .row = row}, rows);
    abacus.number(places, true, {.seed = 1, .row = row}, again);
    CHECK(rows == again);
    const double shift = rows[1] - 1;
    shifts.insert(shift);
    for (std::size_t i = 0; i < places.size(); ++i) CHECK(rows[i] == (places[i] == 0 ? 0 : places[i] + shift));
    abacus.number(places, false, {.seed = 1, .row = row}, rows);
    CHECK(rows == std::vector<double>(places.begin(), places.end()));
  }
  CHECK(shifts.size() == 21);
  CHECK(*shifts.begin() == 0);
  CHECK(*shifts.rbegin() == 20);
}

TEST_CASE("the table adds its row to each token beside any scheme, and nothing where its rows are zero") {
  for (const char* kind : {"encoder", "decoder", "seq2seq"})
    for (const char* scheme : {"none", "fire", "rope", "sinusoidal"}) {
      CAPTURE(kind);
      CAPTURE(scheme);
      const Assembly with = assembled(kind, scheme, "rows = 12"), without = assembled(kind, scheme, "rows = 0");
      Trainer a(*with.model, *with.task, with.train, with.lengths), b(*without.model, *without.task, without.train, without.lengths);
      int tables = 0;
      for (const Parameter& parameter : a.parameters().list())
        if (parameter.name.ends_with(".position.abacus")) {
          ++tables;
          CHECK(parameter.shape == Shape{12, 16});
          CHECK(parameter.role == Role::position);
        }
      CHECK(tables == (std::string_view(kind) == "seq2seq" ? 2 : 1));
      const double before = b.evaluate().lengths[1].loss();
      CHECK(a.evaluate().lengths[1].loss() != before);
      for (const Parameter& parameter : a.parameters().list())
        if (parameter.name.ends_with(".position.abacus")) std::ranges::fill(a.parameters().value(a.parameters().find(parameter.name)), Real{0});
      CHECK(a.evaluate().lengths[1].loss() == before);
    }
}

TEST_CASE("what is written with a cache beside an abacus table is what the whole sequence says") {
  for (const char* kind : {"decoder", "seq2seq"}) {
    CAPTURE(kind);
    const Assembly a = assembled(kind, "fire", "rows = 30");
    Trainer trainer(*a.model, *a.task, a.train, a.lengths);
    const std::vector<Token> prompt = {6, 8, 7, 9};
    const Generated written = generate(*a.model, *a.task, trainer.parameters(), prompt, 5, {.most = 4});
    CHECK(written.cached);
    Example example{.source = prompt, .tags = {}, .answer = written.tokens, .compared = {}};
    example.answer.push_back(token::end);
    const Presented row = present(*a.task, a.model->model().kind, example);
    Machine m = make_machine(*a.model, trainer.parameters(),
                             {.rows = 1, .length = static_cast<Index>(row.tokens.size()), .source_length = static_cast<Index>(row.source.size())}, false,
                             std::make_shared<Arena>());
    feed(m, *a.model, {row}, false);
    m.program->forward();
    for (std::size_t i = 0; i < written.tokens.size(); ++i) CHECK(predicted(m, 0, row.asked[i]) == written.tokens[i]);
  }
}

TEST_CASE("packed examples have the rows of the same examples alone") {
  const Assembly alone = assembled("decoder", "none", "rows = 12"), packed = assembled("decoder", "none", "rows = 12", "pack = 3\n");
  Trainer one(*alone.model, *alone.task, alone.train, alone.lengths);
  ParameterStore& store = one.parameters();
  const auto rows = one.draw_batch(0);
  const std::vector<Presented> three(rows.begin(), rows.begin() + 3);
  const auto length = static_cast<Index>(three.front().tokens.size());
  Machine m = make_machine(*packed.model, store, {.rows = 1, .length = 3 * length, .numbered_by_row = true, .packed = true}, false, std::make_shared<Arena>());
  Machine single = make_machine(*alone.model, store, {.rows = 1, .length = length}, false, std::make_shared<Arena>());
  feed_packed(m, *packed.model, three, 3, false, {});
  m.program->forward();
  const auto together = m.program->read(m.recorded.logits);
  for (std::size_t i = 0; i < 3; ++i) {
    feed(single, *alone.model, {three[i]}, false);
    single.program->forward();
    const auto own = single.program->read(single.recorded.logits);
    for (std::size_t j = 0; j < own.size(); ++j) CHECK(std::abs(own[j] - together[i * own.size() + j]) <= Real(1e-4));
  }
}

TEST_CASE("rows that no training reaches, and lengths that need them, are told") {
  const auto remarks = [](const std::string& abacus) { return remarks_on_abacus(assembled("decoder", "none", abacus)); };  // trained to 5, evaluated to 6
  CHECK(remarks("rows = 10\nmax_shift = 4").empty());
  const auto wide = remarks("rows = 20\nmax_shift = 4");
  REQUIRE(wide.size() == 1);
  CHECK(contains(wide[0], {"rows 10 to 19", "reaches row 9"}));
  const auto short_of = remarks("rows = 7");
  REQUIRE(short_of.size() == 2);
  CHECK(contains(short_of[1], {"length 6", "up to 6", "reaches row 5"}));
}

TEST_CASE("an abacus that cannot hold the lengths, or has nothing to count, is refused before anything is trained") {
  CHECK(contains(refusal("decoder", "rows = 6"), {"row 6", "6 (0 to 5)", "position.abacus.rows"}));  // evaluated at 6
  CHECK(refusal("decoder", "rows = 7").empty());
  CHECK(contains(refusal("seq2seq", "rows = 9\nmax_shift = 4"), {"place 5 shifted by up to 4", "row 9"}));
  CHECK(refusal("seq2seq", "rows = 10\nmax_shift = 4").empty());
  CHECK(contains(refusal("decoder", "max_shift = 3"), {"max_shift", "no effect"}));
  CHECK(contains(refusal("decoder", "rows = 4\nmax_shift = 3"), {"no room"}));
  try {
    assemble(resolve({parse_layer("[position.abacus]\nrows = 8\n[task]\nname = \"word_order\"\n", "e.toml")}));
    FAIL("accepted");
  } catch (const Error& error) {
    CHECK(contains(error.what(), {"numbers its tokens", "position.abacus.rows = 0"}));
  }
}
