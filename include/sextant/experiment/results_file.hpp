// Results for other programs: results.h5 (h5py, pandas, xarray, ncdump); results.csv is made by figures.hpp.
//
// results.h5
//   /table/<column>   one dataset a column, all of equal length: a row for each run and evaluated length. Where a name could be
//                     taken for something else (`precision` and `products`), the attribute `long_name` tells what it means.
//   /grid/<measure>   [settings, seed] with the dimension scales `settings` (keys of 8 hex digits) and `seed`; NaN where a run is
//                     missing. Only at the first evaluated length, which is stated as the attribute `length`.
//   /settings/<key>   the resolved configuration as TOML
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "sextant/experiment/record.hpp"

namespace sextant {

/// Saves durably.
void write_results(const std::filesystem::path& file, const std::vector<RunRecord>& records);

}  // namespace sextant
