// A small table for the terminal and, the same one, for Markdown.
//
// Widths are counted in columns of the terminal, where a Hangul syllable takes two and a combining mark none. Each
// column is as wide as its widest cell and no wider; between two columns stand two blanks.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sextant/base/real.hpp"

namespace sextant {

/// The columns of a terminal that UTF-8 text takes. A byte that is not UTF-8 counts one, as its replacement does; a
/// control character none.
Index display_width(std::string_view text);

/// The text itself if it fits into `width` columns, else its beginning and an ellipsis, together at most `width` wide.
/// A mark stays with the letter it stands on. `width` below 1 gives nothing.
std::string shorten(std::string_view text, Index width);

/// The text as LaTeX sets it: its special characters escaped.
std::string latex_text(std::string_view text);

enum class Align {
  left,   ///< words
  right,  ///< numbers
};

struct Column {
  std::string title;
  Align align = Align::left;
};

class Table {
 public:
  explicit Table(std::vector<Column> columns);

  /// Appends a row; control characters, a line break among them, become blanks. Throws a failure Error unless there is
  /// one cell for each column.
  void add(std::vector<std::string> cells);

  /// Sets the rows that follow apart from those before, under a title or, without one, by a line.
  void group(std::string title = "");

  /// Takes out columns, the first of these titles first, until the table is at most `width` wide or they are used up. Returns
  /// the titles taken out. A `width` below 1 is no limit.
  std::vector<std::string> fit(Index width, const std::vector<std::string>& dispensable);

  /// Takes columns out likewise, but writes their cells below each row, "title: cell", wrapped at blanks: nothing is lost.
  /// What is folded later stands higher, so the least important title comes first.
  void fold(Index width, const std::vector<std::string>& foldable);

  /// For a terminal: header, line, rows; each ends with a line break and without blanks.
  std::string text() const;

  /// As Markdown, with the cells padded so that the source reads well too. A group's title is a row in bold; a group
  /// without one leaves no trace, for Markdown has no line inside a table, nor has it what was folded.
  std::string markdown() const;

  /// As a LaTeX tabular with the rules of booktabs. A group's title spans the columns.
  std::string latex() const;

 private:
  struct Row {
    std::vector<std::string> cells;  // of a group: its title alone
    bool group = false;
    std::string below = {};  // what was folded: whole lines
  };

  std::vector<Index> widths() const;
  Index width() const;
  std::optional<std::size_t> find(const std::string& title) const;
  void remove(std::size_t column);

  std::vector<Column> columns_;
  std::vector<Row> rows_;
};

}  // namespace sextant
