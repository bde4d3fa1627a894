#include "sextant/experiment/table.hpp"

#include <utf8proc.h>

#include <algorithm>
#include <utility>

#include "sextant/base/error.hpp"

namespace sextant {

namespace {

constexpr std::string_view gap = "  ", line = "─", ellipsis = "…";

struct Character {
  std::size_t bytes;
  Index width;
};

/// The first character of text that is not empty.
Character first_character(std::string_view text) {
  utf8proc_int32_t code = 0;
  const auto bytes = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()), static_cast<utf8proc_ssize_t>(text.size()), &code);
  if (bytes < 1) return {1, 1};
  // Vowels and finals that join the Hangul consonant before them: utf8proc counts one, terminals none.
  const bool joins = (code >= 0x1160 && code <= 0x11ff) || (code >= 0xd7b0 && code <= 0xd7ff);
  return {static_cast<std::size_t>(bytes), joins ? 0 : utf8proc_charwidth(code)};
}

std::string repeated(std::string_view text, Index times) {
  std::string result;
  for (Index i = 0; i < times; ++i) result += text;
  return result;
}

std::string padded(const std::string& text, Align align, Index width) {
  const std::string blanks = repeated(" ", width - display_width(text));
  return align == Align::left ? text + blanks : blanks + text;
}

/// The cells side by side, each as wide as its column, without blanks at the end.
std::string side_by_side(const std::vector<std::string>& cells, const std::vector<Column>& columns, const std::vector<Index>& widths) {
  std::string result;
  for (std::size_t c = 0; c < cells.size(); ++c) {
    if (c > 0) result += gap;
    result += padded(cells[c], columns[c].align, widths[c]);
  }
  return result.erase(result.find_last_not_of(' ') + 1) + '\n';
}

std::string without_control(std::string text) {
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  return text;
}

/// A bar would end a Markdown cell.
std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '|') result += '\\';
    result += c;
  }
  return result;
}

std::string markdown_row(const std::vector<std::string>& cells, const std::vector<Column>& columns, const std::vector<Index>& widths) {
  std::string result = "|";
  for (std::size_t c = 0; c < cells.size(); ++c) result += " " + padded(cells[c], columns[c].align, widths[c]) + " |";
  return result + '\n';
}

std::string markdown_rule(const std::vector<Column>& columns, const std::vector<Index>& widths) {
  std::string result = "|";
  for (std::size_t c = 0; c < columns.size(); ++c) {
    const bool right = columns[c].align == Align::right;
    result += " " + repeated("-", widths[c] - (right ? 1 : 0)) + (right ? ": |" : " |");
  }
  return result + '\n';
}

/// The words in lines of at most `width`, indented, those after the first once more. A word that is longer stands alone.
std::string wrapped(std::string_view text, Index width) {
  std::string result, current;
  const auto end_line = [&] {
    if (!current.empty()) result += (result.empty() ? "  " : "    ") + std::exchange(current, "") + '\n';
  };
  while (!text.empty()) {
    const std::string word(text.substr(0, text.find(' ')));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    if (word.empty()) continue;
    if (display_width(current) + 1 + display_width(word) > width - (result.empty() ? 2 : 4)) end_line();
    current += (current.empty() ? "" : " ") + word;
  }
  end_line();
  return result;
}

/// Widens each column to the cells of a row.
void widen(std::vector<Index>& widths, const std::vector<std::string>& cells) {
  for (std::size_t c = 0; c < cells.size(); ++c) widths[c] = std::max(widths[c], display_width(cells[c]));
}

}  // namespace

Index display_width(std::string_view text) {
  Index width = 0;
  while (!text.empty()) {
    const Character character = first_character(text);
    width += character.width;
    text.remove_prefix(character.bytes);
  }
  return width;
}

std::string shorten(std::string_view text, Index width) {
  if (display_width(text) <= width) return std::string(text);
  if (width < 1) return "";
  std::size_t kept = 0;
  for (Index used = 0; kept < text.size();) {
    const Character character = first_character(text.substr(kept));
    used += character.width;
    if (used > width - 1) break;
    kept += character.bytes;
  }
  return std::string(text.substr(0, kept)).append(ellipsis);
}

Table::Table(std::vector<Column> columns) : columns_(std::move(columns)) {
  for (Column& column : columns_) column.title = without_control(std::move(column.title));
}

void Table::add(std::vector<std::string> cells) {
  if (cells.size() != columns_.size()) fail(ErrorKind::failure, "table: a row of {} cells for {} columns", cells.size(), columns_.size());
  for (std::string& cell : cells) cell = without_control(std::move(cell));
  rows_.push_back({std::move(cells)});
}

void Table::group(std::string title) { rows_.push_back({{without_control(std::move(title))}, true}); }

std::vector<Index> Table::widths() const {
  std::vector<Index> widths;
  for (const Column& column : columns_) widths.push_back(display_width(column.title));
  for (const Row& row : rows_)
    if (!row.group) widen(widths, row.cells);
  return widths;
}

Index Table::width() const {
  Index total = static_cast<Index>(gap.size()) * std::max<Index>(0, static_cast<Index>(columns_.size()) - 1);
  for (const Index width : widths()) total += width;
  return total;
}

std::optional<std::size_t> Table::find(const std::string& title) const {
  for (std::size_t c = 0; c < columns_.size(); ++c)
    if (columns_[c].title == title) return c;
  return std::nullopt;
}

void Table::remove(std::size_t column) {
  const auto at = static_cast<std::ptrdiff_t>(column);
  columns_.erase(columns_.begin() + at);
  for (Row& row : rows_)
    if (!row.group) row.cells.erase(row.cells.begin() + at);
}

std::vector<std::string> Table::fit(Index width, const std::vector<std::string>& dispensable) {
  std::vector<std::string> removed;
  for (const std::string& title : dispensable) {
    if (width < 1 || this->width() <= width) break;
    const auto column = find(title);
    if (!column) continue;
    remove(*column);
    removed.push_back(title);
  }
  return removed;
}

void Table::fold(Index width, const std::vector<std::string>& foldable) {
  for (const std::string& title : foldable) {
    if (width < 1 || this->width() <= width) break;
    const auto column = find(title);
    if (!column) continue;
    for (Row& row : rows_)
      if (!row.group && !row.cells[*column].empty()) row.below.insert(0, wrapped(title + ": " + row.cells[*column], width));
    remove(*column);
  }
}

std::string Table::text() const {
  std::vector<std::string> titles;
  for (const Column& column : columns_) titles.push_back(column.title);
  const std::vector<Index> widths = this->widths();
  const std::string rule = repeated(line, width()) + '\n';

  std::string result = side_by_side(titles, columns_, widths) + rule;
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    const Row& row = rows_[r];
    if (!row.group)
      result += side_by_side(row.cells, columns_, widths) + row.below;
    else if (row.cells.front().empty())
      result += rule;
    else
      result += (r > 0 ? "\n" : "") + row.cells.front() + '\n';
  }
  return result;
}

std::string Table::markdown() const {
  const auto escape = [](std::vector<std::string> cells) {
    for (std::string& cell : cells) cell = escaped(cell);
    return cells;
  };
  std::vector<std::string> titles;
  for (const Column& column : columns_) titles.push_back(column.title);
  std::vector<std::vector<std::string>> rows{escape(titles)};
  for (const Row& row : rows_) {
    if (!row.group) rows.push_back(escape(row.cells));
    if (!row.group || row.cells.front().empty() || columns_.empty()) continue;
    rows.emplace_back(columns_.size());
    rows.back().front() = "**" + escaped(row.cells.front()) + "**";
  }
  std::vector<Index> widths(columns_.size(), 3);  // the shortest rule that every reader of Markdown takes
  for (const auto& row : rows) widen(widths, row);

  std::string result = markdown_row(rows.front(), columns_, widths) + markdown_rule(columns_, widths);
  for (std::size_t r = 1; r < rows.size(); ++r) result += markdown_row(rows[r], columns_, widths);
  return result;
}

std::string latex_text(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (std::string_view("&%$#_{}").find(c) != std::string_view::npos)
      result += std::string("\\") + c;
    else if (c == '~' || c == '^')
      result += std::string("\\") + c + "{}";
    else
      result += c == '\\' ? std::string("\\textbackslash{}") : std::string(1, c);
  }
  return result;
}

std::string Table::latex() const {
  std::string alignment;
  for (const Column& column : columns_) alignment += column.align == Align::right ? 'r' : 'l';
  const auto line = [](const auto& cells) {
    std::string text;
    for (const std::string& cell : cells) text += (text.empty() ? "" : " & ") + latex_text(cell);
    return text + " \\\\\n";
  };
  std::vector<std::string> titles;
  for (const Column& column : columns_) titles.push_back(column.title);
  std::string result = "\\begin{tabular}{" + alignment + "}\n\\toprule\n" + line(titles) + "\\midrule\n";
  for (const Row& row : rows_) {
    if (!row.group)
      result += line(row.cells);
    else if (row.cells.front().empty())
      result += "\\midrule\n";
    else
      result += fmt::format("\\multicolumn{{{}}}{{l}}{{\\emph{{{}}}}} \\\\\n", columns_.size(), latex_text(row.cells.front()));
  }
  return result + "\\bottomrule\n\\end{tabular}\n";
}

}  // namespace sextant
