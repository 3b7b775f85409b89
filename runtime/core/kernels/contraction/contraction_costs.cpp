#include "runtime/core/kernels/contraction/contraction_costs.h"

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include <fmt/format.h>

#include "runtime/core/kernels/interface/block_op.h"

namespace sial::kernels {
namespace {

constexpr CostField fields[] = {
#define SIALX_COST(name, narrow, wide, kind, unit, meaning) \
  {#name, &ContractionCosts::name, CostKind::kind, unit, meaning},
#include "runtime/core/kernels/contraction/contraction_costs.def"
#undef SIALX_COST
};

}  // namespace

std::span<const CostField> cost_fields() { return fields; }

ContractionCosts fixed_costs(int width) {
  ContractionCosts costs;
  if (width >= 8) {
#define SIALX_COST(name, narrow, wide, kind, unit, meaning) costs.name = wide;
#include "runtime/core/kernels/contraction/contraction_costs.def"
#undef SIALX_COST
  }
  costs.width = width;
  return costs;
}

CacheSizes cache_sizes() {
  static const CacheSizes sizes{sysconf(_SC_LEVEL1_DCACHE_SIZE), sysconf(_SC_LEVEL2_CACHE_SIZE)};
  return sizes;
}

ContractionCosts usual_costs(int width, CacheSizes caches) {
  ContractionCosts costs = fixed_costs(width);
  // Where these differ from the fixed ones, they were found by `bench_kernels --tune`.
  costs.tile_start_tables = 25.0;
  costs.rows_in_place = 0.04;
  costs.rows_in_place_single = 0.12;
  costs.rows_in_place_conflicting = 1.1;
  costs.pack_columns_across = 1.2;
  costs.scatter = 2.9;
  if (width >= 8) costs.vector_short_fours = 2.5;
  costs.pack_rows_lines_far = 2.4;
  costs.pack_rows_lines_pages = 3.2;
  costs.shared_line = 7.0;
  costs.memory = static_cast<double>(last_level_cache_bytes()) / 2;
  // The limits stand for 32 to 48 KiB and 1 MiB.
  if (caches.first > 0)
    costs.first_cache =
        std::clamp(static_cast<double>(std::bit_floor(static_cast<unsigned long>(caches.first))), 16384.0, 131072.0);
  if (caches.second > 0) {
    const double share = std::clamp(static_cast<double>(caches.second) / 1048576.0, 0.25, 4.0);
    for (const auto limit : {&ContractionCosts::row_block, &ContractionCosts::close, &ContractionCosts::near,
                             &ContractionCosts::second_cache, &ContractionCosts::columns_near})
      costs.*limit *= share;
  }
  return costs;
}

bool plausible(const ContractionCosts& costs) {
  const ContractionCosts fixed = fixed_costs(costs.width);
  return std::all_of(std::begin(fields), std::end(fields), [&](const CostField& field) {
    const double value = costs.*field.value, reference = fixed.*field.value;
    if (!std::isfinite(value) || value <= 0) return false;
    return field.kind == CostKind::size || (value >= reference / cost_range && value <= reference * cost_range);
  });
}

std::string costs_text(const ContractionCosts& costs) {
  const ContractionCosts usual = usual_costs(costs.width);
  std::string text;
  for (const CostField& field : fields)
    if (field.kind == CostKind::fitted && std::abs(costs.*field.value - usual.*field.value) > 1e-9 * usual.*field.value)
      text += fmt::format("{}{} {:.3g}", text.empty() ? "" : ", ", field.name, costs.*field.value);
  return text;
}

}  // namespace sial::kernels
