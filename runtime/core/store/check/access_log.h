#pragma once
// Statistics of reads per statement and array. Found by the statement's pc in one step: a statement reads few arrays.

#include <vector>

#include "runtime/core/base/ids.h"
#include "runtime/core/store/interface/monitor.h"

namespace sial {

class AccessLog {
 public:
  AccessStats& at(Place place, ArrayId array);
  const std::vector<AccessStats>& all() const { return rows_; }

 private:
  std::vector<std::vector<std::int32_t>> first_;  // [program][pc + 1] -> row + 1
  std::vector<AccessStats> rows_;
  std::vector<std::int32_t> next_;  // row -> row + 1 of the same statement
};

}  // namespace sial
