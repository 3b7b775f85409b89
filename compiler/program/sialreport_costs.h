#pragma once
// Costs of orders of indices, by the planner of the kernels: contractions as they would be planned for vectors of
// eight, whatever the processor that reads the report, so that advice does not depend on it.

#include <map>
#include <vector>

#include "compiler/report/advice/declarations.h"

namespace sial {

class KernelOrderCosts final : public report::OrderCosts {
 public:
  double seconds(const report::OrderedBlock* d, const report::OrderedBlock& a,
                 const report::OrderedBlock* b) const override;

 private:
  mutable std::map<std::vector<std::int64_t>, double> known_;  // by extents and strides
};

}  // namespace sial
