#pragma once
// Whether a pardo is left early, or where clauses or control around it may differ between ranks. Its iterations then
// cannot come from a common queue: they are dealt in turn (runtime/core/interp/README.md). sialc decides it per pardo.

#include <cstdint>
#include <string_view>

namespace sial {

enum class RankDependence : std::int32_t {
  none,
  saved,  // only where scalars or static arrays that earlier programs saved differ between ranks
  possible
};

constexpr std::string_view rank_dependence_text(RankDependence dependence) {
  switch (dependence) {
    case RankDependence::none: return "";
    case RankDependence::saved: return "rank dependent if saved values are";
    case RankDependence::possible: return "rank dependent";
  }
  return "";
}

}  // namespace sial
