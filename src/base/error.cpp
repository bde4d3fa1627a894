#include "sextant/base/error.hpp"

namespace sextant {

Error::Error(ErrorKind kind, const std::string& fact, const std::string& advice)
    : std::runtime_error(advice.empty() ? fact : fmt::format("{}; {}", fact, advice)), kind_(kind), fact_(fact), advice_(advice) {}

Error Error::within(std::string_view place) const { return {kind_, fmt::format("{}: {}", place, fact_), advice_}; }

Error Error::advised(const std::string& other) const { return advice_.empty() ? *this : Error(kind_, fact_, other); }

void detail::fail_formatted(ErrorKind kind, fmt::string_view format, fmt::format_args arguments) { throw Error(kind, fmt::vformat(format, arguments)); }

}  // namespace sextant
