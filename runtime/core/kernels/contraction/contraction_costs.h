#pragma once
// The constants of the model by which contractions are planned (contraction_estimate.h): cycles of one core, and limits
// that follow from caches. Three sets of them. The fixed ones depend on the width of vectors only: they decide whether
// a BLAS runs, which rounds otherwise than tiles, and predictions of time go by them. The usual ones choose among
// strategies of equal bits; those measured on a processor (contraction_calibration.h) take their place. Values; nothing
// here is measured.

#include <span>
#include <string>

namespace sial::kernels {

struct ContractionCosts {
  int width = 0;  // doubles in a vector of the tiles that they are for
#define SIALX_COST(name, narrow, wide, kind, unit, meaning) double name = narrow;
#include "runtime/core/kernels/contraction/contraction_costs.def"
#undef SIALX_COST
  bool operator==(const ContractionCosts&) const = default;
};

enum class CostKind { fitted, fixed, size };

struct CostField {
  const char* name;
  double ContractionCosts::* value;
  CostKind kind;
  const char *unit, *meaning;
};
std::span<const CostField> cost_fields();

ContractionCosts fixed_costs(int width);

/// Bytes; 0: unknown.
struct CacheSizes {
  long first = 0, second = 0;
};
/// The caches of this processor, read once.
CacheSizes cache_sizes();
ContractionCosts usual_costs(int width, CacheSizes caches = cache_sizes());

/// Whether every value is finite and positive, and costs are within a factor of cost_range of the fixed ones.
bool plausible(const ContractionCosts& costs);
constexpr double cost_range = 16.0;

/// "tile_start 12.3, pack_rows_along 0.65": the fitted values that differ from the usual ones.
std::string costs_text(const ContractionCosts& costs);

}  // namespace sial::kernels
