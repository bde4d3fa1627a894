#include "sextant/experiment/table.hpp"

#include <doctest/doctest.h>

#include "sextant/base/error.hpp"

using namespace sextant;

namespace {

Table small_table() {
  Table table({{"scheme"}, {"exact", Align::right}, {"note"}});
  table.add({"none", "2.5 %", "blind"});
  table.add({"rope", "100.0 %", ""});
  return table;
}

}  // namespace

TEST_CASE("a width counts columns, not bytes or characters") {
  CHECK(display_width("") == 0);
  CHECK(display_width("rope") == 4);
  CHECK(display_width("개가 사람을") == 11);        // five syllables of two, one blank
  CHECK(display_width("e\u0301a") == 2);            // e with a combining acute
  CHECK(display_width("\u1100\u1161\u11a8") == 2);  // 각, written as its three letters
  CHECK(display_width("━╸─…") == 4);
  CHECK(display_width("a\xff"
                      "b") == 3);         // a byte that is not UTF-8
  CHECK(display_width("\xea\xb0") == 2);  // a syllable cut off: two stray bytes
}

TEST_CASE("text is shortened to a width only where it does not fit") {
  CHECK(shorten("sinusoidal", 10) == "sinusoidal");
  CHECK(shorten("sinusoidal", 9) == "sinusoid…");
  CHECK(shorten("sinusoidal", 1) == "…");
  CHECK(shorten("sinusoidal", 0) == "");
  CHECK(shorten("sinusoidal", -3) == "");
  CHECK(shorten("", 0) == "");
}

TEST_CASE("shortening cuts no Hangul syllable in two and parts no mark from its letter") {
  CHECK(shorten("개가사람", 8) == "개가사람");
  CHECK(shorten("개가사람", 7) == "개가사…");
  CHECK(shorten("개가사람", 6) == "개가…");  // three syllables and the ellipsis would take seven
  CHECK(shorten("e\u0301abc", 2) == "e\u0301…");
}

TEST_CASE("a table aligns words left, numbers right, and ends no line with blanks") {
  CHECK(small_table().text() ==
        "scheme    exact  note\n"
        "──────────────────────\n"
        "none      2.5 %  blind\n"
        "rope    100.0 %\n");
}

TEST_CASE("Hangul cells align by the columns they take") {
  Table table({{"낱말"}, {"n", Align::right}});
  table.add({"개", "1"});
  table.add({"dog", "10"});
  CHECK(table.text() ==
        "낱말   n\n"
        "────────\n"
        "개     1\n"
        "dog   10\n");
}

TEST_CASE("groups are set apart by a title or by a line") {
  Table table({{"scheme"}, {"n", Align::right}});
  table.group("encoder");
  table.add({"none", "3"});
  table.group("decoder");
  table.add({"rope", "3"});
  table.group();
  table.add({"all", "6"});
  CHECK(table.text() ==
        "scheme  n\n"
        "─────────\n"
        "encoder\n"
        "none    3\n"
        "\n"
        "decoder\n"
        "rope    3\n"
        "─────────\n"
        "all     6\n");
}

TEST_CASE("the same table comes as Markdown") {
  Table table({{"scheme"}, {"exact", Align::right}});
  table.group("encoder");
  table.add({"none", "2.5 %"});
  table.group();
  table.add({"a|b", "100.0 %"});
  CHECK(table.markdown() ==
        "| scheme      |   exact |\n"
        "| ----------- | ------: |\n"
        "| **encoder** |         |\n"
        "| none        |   2.5 % |\n"
        "| a\\|b        | 100.0 % |\n");
}

TEST_CASE("a narrow Markdown column still has a rule of three") {
  Table table({{"n", Align::right}});
  table.add({"1"});
  CHECK(table.markdown() == "|   n |\n| --: |\n|   1 |\n");
}

TEST_CASE("a control character in a cell cannot break the table or the terminal") {
  Table table({{"prompt"}});
  table.add({"a\nb\x1b[2J"});
  CHECK(table.text() == "prompt\n───────\na b [2J\n");
}

TEST_CASE("a row needs one cell for each column") {
  Table table = small_table();
  CHECK_THROWS_AS(table.add({"rope"}), Error);
  CHECK_THROWS_AS(table.add({"rope", "1", "2", "3"}), Error);
}

TEST_CASE("a table that is too wide gives up its dispensable columns in their order, and no more than it must") {
  const auto titles = [](Index width) {
    Table table = small_table();
    return table.fit(width, {"absent", "note", "exact"});
  };
  CHECK(titles(22).empty());
  CHECK(titles(0).empty());
  CHECK(titles(21) == std::vector<std::string>{"note"});
  CHECK(titles(14) == std::vector<std::string>{"note", "exact"});
  CHECK(titles(3) == std::vector<std::string>{"note", "exact"});
  Table table = small_table();
  table.group("end");
  table.fit(15, {"exact"});
  CHECK(table.text() == "scheme  note\n─────────────\nnone    blind\nrope\n\nend\n");
}

TEST_CASE("a table that is too wide folds columns below its rows, wrapped, and loses nothing") {
  Table table({{"scheme"}, {"what it is"}, {"n", Align::right}, {"knobs"}});
  table.add({"rope", "queries and keys turned", "1", ""});
  table.group("others");
  table.add({"t5", "a bias for each bucket of distances", "10", "buckets = 32"});
  Table whole = table;
  whole.fold(0, {"knobs"});
  CHECK(whole.text() == table.text());
  table.fold(24, {"absent", "knobs", "what it is", "n"});
  CHECK(table.text() ==
        "scheme   n\n"
        "──────────\n"
        "rope     1\n"
        "  what it is: queries\n"
        "    and keys turned\n"
        "\n"
        "others\n"
        "t5      10\n"
        "  what it is: a bias for\n"
        "    each bucket of\n"
        "    distances\n"
        "  knobs: buckets = 32\n");
}
