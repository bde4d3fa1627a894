// The house stands as it was drawn: reads every #include line of include/sextant and src, and proves that arrows
// go down only and that each outside library stands behind its own files.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace {

namespace fs = std::filesystem;

using Names = std::set<std::string, std::less<>>;
using Complaints = std::vector<std::string>;

// ---- What is allowed ----------------------------------------------------------------------------------------------

/// For each floor the floors that it may include, itself understood.
const std::map<std::string, Names, std::less<>> floors_below = {
    {"base", {}},
    {"kernels", {"base"}},
    {"tape", {"base", "kernels"}},
    {"ops", {"base", "kernels", "tape"}},
    {"position", {"base", "kernels", "tape", "ops"}},
    {"nn", {"base", "kernels", "tape", "ops", "position"}},
    {"tasks", {"base"}},
    {"train", {"base", "kernels", "tape", "ops", "position", "nn", "tasks"}},
    {"experiment", {"base", "kernels", "tape", "ops", "position", "nn", "tasks", "train"}},
    {"cli", {"base", "kernels", "tape", "ops", "position", "nn", "tasks", "train", "experiment"}},
};

/// The floors that can be embedded anywhere: no input or output, no logging, no header of an operating system.
const Names engine = {"base", "kernels", "tape", "ops", "position", "nn", "tasks"};
/// But for these: a library that is opened only when it is chosen, and an instruction that no compiler makes of plain code.
const std::map<std::string, std::string, std::less<>> allowed_to_one_file = {{"dlfcn.h", "src/kernels/onednn.cpp"}, {"immintrin.h", "src/kernels/bf16.cpp"}};
const Names input_and_output = {"iostream", "istream", "ostream", "fstream", "filesystem", "cstdio", "stdio.h", "syncstream", "print"};

/// A library is known by its headers, a regular expression of the whole name, and lives in the files that start so.
struct Library {
  std::string name, headers;
  std::vector<std::string> homes;
  std::size_t files_at_most = 1000;
};
const std::vector<Library> libraries = {
    {"OpenBLAS", R"((cblas|lapacke?|f77blas|openblas).*\.h)", {"src/kernels/openblas.cpp"}},
    {"oneDNN", R"((oneapi/)?dnnl.*)", {"src/kernels/onednn.cpp"}},
    {"oneTBB", R"((oneapi/)?tbb/.*)", {"src/base/parallel.cpp"}},
    {"xsimd", R"(xsimd/.*)", {"src/kernels/pack.hpp"}},
    {"toml++", R"(toml\+\+/.*|toml\.hpp)", {"src/experiment/"}, 1},
    {"HDF5", R"(hdf5(_hl)?\.h|H5.*\.h)", {"src/train/hdf5"}},
    {"CLI11", R"(CLI/.*)", {"src/cli/"}},
    {"spdlog", R"(spdlog/.*)", {"src/experiment/", "src/cli/"}},
    {"nlohmann-json", R"(nlohmann/.*)", {"include/sextant/experiment/json.hpp", "src/experiment/", "src/cli/"}},
};

// ---- What is there ------------------------------------------------------------------------------------------------

struct Include {
  std::string file;  // "src/nn/attention.cpp", from the root of the house
  std::size_t line{};
  std::string target;  // between the brackets or quotes; empty if it is a macro
  bool quoted{};

  std::string place() const { return fmt::format("{}:{}", file, line); }
  bool in_public_header() const { return file.starts_with("include/"); }

  /// "nn" in both "include/sextant/nn/attention.hpp" and "src/nn/attention.cpp"; empty if it lies on no floor.
  std::string floor() const {
    const std::string_view root = in_public_header() ? "include/sextant/" : "src/";
    if (!file.starts_with(root)) return {};
    const std::size_t slash = file.find('/', root.size());
    return slash == std::string::npos ? std::string{} : file.substr(root.size(), slash - root.size());
  }
};

struct Source {
  std::string file, text;
};

std::vector<Source> read_house(const fs::path& root) {
  std::vector<Source> house;
  for (const char* part : {"include", "src"})
    for (const auto& entry : fs::recursive_directory_iterator(root / part)) {
      if (!Names{".hpp", ".cpp", ".h", ".cc", ".ipp", ".inc"}.contains(entry.path().extension().string())) continue;
      std::ifstream in(entry.path(), std::ios::binary);
      house.push_back({fs::relative(entry.path(), root).generic_string(), {std::istreambuf_iterator<char>(in), {}}});
    }
  std::ranges::sort(house, {}, &Source::file);
  return house;
}

std::vector<Include> includes_of(const std::vector<Source>& house) {
  static const std::regex form(R"re(^\s*#\s*include(?:_next)?\s*(?:<([^>]*)>|"([^"]*)")?.*)re");
  std::vector<Include> found;
  for (const Source& source : house) {
    std::istringstream lines(source.text);
    std::string line;
    for (std::size_t number = 1; std::getline(lines, line); ++number)
      if (std::smatch match; line.find('#') != std::string::npos && std::regex_match(line, match, form))
        found.push_back({source.file, number, match[1].matched ? match[1].str() : match[2].str(), match[2].matched});
  }
  return found;
}

/// Where an include of our own leads, from the root of the house: "include/sextant/base/shape.hpp" or
/// "src/train/hdf5_library.hpp". Empty for the standard's and the libraries' headers.
std::string own_target(const Include& include) {
  if (include.target.starts_with("sextant/")) return "include/" + include.target;
  if (!include.quoted) return {};
  return (fs::path(include.file).parent_path() / include.target).lexically_normal().generic_string();
}

// ---- The rules ----------------------------------------------------------------------------------------------------

Complaints arrows_that_do_not_go_down(const std::vector<Include>& includes) {
  Complaints wrong;
  for (const Include& include : includes) {
    const auto below = floors_below.find(include.floor());
    if (below == floors_below.end()) {
      wrong.push_back(fmt::format("{}: the file lies on no floor", include.place()));
      continue;
    }
    if (include.target.empty()) wrong.push_back(fmt::format("{}: an include that is no plain name cannot be judged", include.place()));
    const std::string target = own_target(include);
    if (target.empty()) continue;
    const std::string floor = Include{target, 0, {}, false}.floor();
    if (floor != below->first && !below->second.contains(floor))
      wrong.push_back(fmt::format("{}: {} may not include {}", include.place(), below->first, target));
  }
  return wrong;
}

Complaints public_headers_that_see_private_ones(const std::vector<Include>& includes) {
  Complaints wrong;
  for (const Include& include : includes)
    if (include.in_public_header() && (include.quoted ? !include.target.starts_with("sextant/") : include.target.find("src/") != std::string::npos))
      wrong.push_back(fmt::format("{}: a public header may not include \"{}\"", include.place(), include.target));
  return wrong;
}

Complaints libraries_that_left_home(const std::vector<Include>& includes) {
  Complaints wrong;
  for (const Library& library : libraries) {
    const std::regex headers(library.headers);
    Names files;
    for (const Include& include : includes) {
      if (!std::regex_match(include.target, headers)) continue;
      files.insert(include.file);
      if (std::ranges::none_of(library.homes, [&](const std::string& home) { return include.file.starts_with(home); }))
        wrong.push_back(fmt::format("{}: {} belongs to {} alone", include.place(), library.name, fmt::join(library.homes, ", ")));
    }
    if (files.size() > library.files_at_most) wrong.push_back(fmt::format("{} stands in {} files: {}", library.name, files.size(), fmt::join(files, ", ")));
  }
  return wrong;
}

/// Besides its own headers and the three libraries, the engine may use the standard library and fmt.
Complaints engine_that_touches_the_world(const std::vector<Include>& includes) {
  Complaints wrong;
  for (const Include& include : includes) {
    if (!engine.contains(include.floor()) || !own_target(include).empty()) continue;
    const auto is_header_of = [&](const Library& library) { return std::regex_match(include.target, std::regex(library.headers)); };
    const bool foreign = include.target.find_first_of("./") != std::string::npos;  // the standard's headers are plain words
    const auto exception = allowed_to_one_file.find(include.target);
    const bool excepted = exception != allowed_to_one_file.end() && exception->second == include.file;
    const bool known = excepted || include.target.starts_with("fmt/") || std::ranges::any_of(libraries, is_header_of);
    if (input_and_output.contains(include.target) || include.target.starts_with("spdlog/") || (foreign && !known))
      wrong.push_back(fmt::format("{}: {} may not include <{}>", include.place(), include.floor(), include.target));
  }
  return wrong;
}

/// The names found in the code: "t5" is found in `t5_bias`, `T5Scheme` and "t5", and not in `int5` or in a comment.
Names names_spoken(const std::string& code, const Names& names) {
  std::string words = "_";  // the code in snake case
  std::istringstream lines(code);
  for (std::string line; std::getline(lines, line); words += '_') {
    line.resize(std::min(line.find("//"), line.size()));
    char before = ' ';
    for (const char c : line) {
      const auto is = [](int (*kind)(int), char x) { return kind(static_cast<unsigned char>(x)) != 0; };
      if (is(std::isupper, c) && !is(std::isupper, before)) words += '_';
      words += is(std::isalnum, c) ? static_cast<char>(std::tolower(static_cast<unsigned char>(c))) : '_';
      before = c;
    }
  }
  Names spoken;
  for (const std::string& name : names)
    if (words.find("_" + name + "_") != std::string::npos) spoken.insert(name);
  return spoken;
}

const std::vector<Source>& house() {
  static const std::vector<Source> sources = read_house(SEXTANT_SOURCE_DIR);
  return sources;
}

const std::vector<Include>& all_includes() {
  static const std::vector<Include> includes = includes_of(house());
  return includes;
}

void check_none(const Complaints& wrong) { CHECK_MESSAGE(wrong.empty(), fmt::format("\n  {}", fmt::join(wrong, "\n  "))); }

/// The includes of a house of one file.
std::vector<Include> one_file(const std::string& file, const std::string& text) { return includes_of({{file, text}}); }

}  // namespace

TEST_CASE("Every floor of the house is read, in its headers and in its sources") {
  for (const auto& [floor, below] : floors_below) {
    CAPTURE(floor);
    for (const std::string& part : {"include/sextant/" + floor + "/", "src/" + floor + "/"}) {
      CAPTURE(part);
      CHECK(std::ranges::any_of(house(), [&](const Source& source) { return source.file.starts_with(part); }));
    }
  }
  CHECK(all_includes().size() > 500);
}

TEST_CASE("Arrows between the floors go down only") { check_none(arrows_that_do_not_go_down(all_includes())); }

TEST_CASE("Public headers include nothing private") { check_none(public_headers_that_see_private_ones(all_includes())); }

TEST_CASE("Each outside library stands behind its own files") {
  check_none(libraries_that_left_home(all_includes()));
  for (const Library& library : libraries) {  // a library that is found nowhere means a pattern that finds nothing
    CAPTURE(library.name);
    CHECK(std::ranges::any_of(all_includes(), [&](const Include& include) { return std::regex_match(include.target, std::regex(library.headers)); }));
  }
}

TEST_CASE("The engine, position and tasks do no input, no output and no logging") { check_none(engine_that_touches_the_world(all_includes())); }

TEST_CASE("Attention names no scheme") {
  Names schemes;
  for (const auto& entry : fs::directory_iterator(fs::path(SEXTANT_SOURCE_DIR) / "src/position/schemes"))
    if (entry.path().extension() == ".cpp") schemes.insert(entry.path().stem().string());
  CHECK(schemes.size() >= 6);
  CHECK(schemes.contains("rope"));

  const auto attention = std::ranges::find(house(), "src/nn/attention.cpp", &Source::file);
  REQUIRE(attention != house().end());
  const Names spoken = names_spoken(attention->text, schemes);
  CHECK_MESSAGE(spoken.empty(), fmt::format("src/nn/attention.cpp names {}", fmt::join(spoken, ", ")));
}

TEST_CASE("The proof of the floors notices what is wrong") {
  const auto climbs = [](const std::string& file, const std::string& text) { return !arrows_that_do_not_go_down(one_file(file, text)).empty(); };
  CHECK(climbs("src/base/shape.cpp", "#include \"sextant/kernels/rows.hpp\""));
  CHECK(climbs("src/base/shape.cpp", "  #  include <sextant/kernels/rows.hpp>"));
  CHECK(climbs("src/base/shape.cpp", "#include \"../kernels/private.hpp\""));
  CHECK(climbs("include/sextant/position/scheme.hpp", "#include \"sextant/nn/model.hpp\""));
  CHECK(climbs("src/tasks/entries/copy.cpp", "\n#include \"sextant/tape/tape.hpp\"  // only a little"));
  CHECK(climbs("src/train/trainer.cpp", "#include \"sextant/experiment/toml.hpp\""));
  CHECK(climbs("src/train/trainer.cpp", "#include HEADER"));
  CHECK(climbs("src/stray.cpp", "#include <vector>"));
  CHECK_FALSE(climbs("src/nn/model.cpp", "#include \"sextant/nn/model.hpp\"\n#include \"sextant/position/scheme.hpp\"\n#include <vector>"));
  CHECK_FALSE(climbs("src/train/hdf5.cpp", "#include \"hdf5_library.hpp\""));

  const auto peeks = [](const std::string& text) { return !public_headers_that_see_private_ones(one_file("include/sextant/train/hdf5.hpp", text)).empty(); };
  CHECK(peeks("#include \"hdf5_library.hpp\""));
  CHECK(peeks("#include \"../../../src/train/hdf5_library.hpp\""));
  CHECK_FALSE(peeks("#include \"sextant/base/shape.hpp\""));

  const auto strays = [](const std::string& file, const std::string& text) { return !libraries_that_left_home(one_file(file, text)).empty(); };
  CHECK(strays("src/kernels/rows.cpp", "#include <cblas.h>"));
  CHECK(strays("src/kernels/gemm.cpp", "#include <oneapi/dnnl/dnnl.h>"));
  CHECK(strays("src/kernels/gemm.cpp", "#include <oneapi/tbb/parallel_for.h>"));
  CHECK(strays("src/ops/activation.cpp", "#include <xsimd/xsimd.hpp>"));
  CHECK(strays("include/sextant/train/hdf5.hpp", "#include <hdf5.h>"));
  CHECK(strays("src/experiment/configuration.cpp", "#include <CLI/CLI.hpp>"));
  CHECK(strays("src/train/trainer.cpp", "#include <nlohmann/json.hpp>"));
  CHECK_FALSE(strays("src/train/hdf5_library.hpp", "#include <hdf5.h>"));
  CHECK_FALSE(
      libraries_that_left_home(includes_of({{"src/experiment/a.cpp", "#include <toml++/toml.h>"}, {"src/experiment/b.cpp", "#include <toml++/toml.h>"}}))
          .empty());

  const auto touches = [](const std::string& file, const std::string& text) { return !engine_that_touches_the_world(one_file(file, text)).empty(); };
  for (const char* header : {"<iostream>", "<fstream>", "<filesystem>", "<cstdio>", "<spdlog/spdlog.h>", "<unistd.h>"}) {
    CAPTURE(header);
    CHECK(touches("src/tasks/entries/text.cpp", fmt::format("#include {}", header)));
    CHECK_FALSE(touches("src/train/seal.cpp", fmt::format("#include {}", header)));
  }
  for (const auto& [header, file] : allowed_to_one_file) {
    CHECK_FALSE(touches(file, fmt::format("#include <{}>", header)));
    CHECK(touches("src/kernels/gemm.cpp", fmt::format("#include <{}>", header)));
  }
  CHECK_FALSE(touches("src/base/error.cpp", "#include <fmt/format.h>\n#include <vector>\n#include \"sextant/base/error.hpp\""));

  const Names schemes = {"none", "t5", "rope", "transformer_xl"};
  CHECK(names_spoken("if (position.name == \"rope\")", schemes) == Names{"rope"});
  CHECK(names_spoken("schemes::T5Scheme scheme;", schemes) == Names{"t5"});
  CHECK(names_spoken("apply_rope(q); \"transformer-xl\"", schemes) == Names{"rope", "transformer_xl"});
  CHECK(names_spoken("const int europe = int5;  // none of rope's business", schemes).empty());
}
