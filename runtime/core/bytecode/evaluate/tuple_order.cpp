#include "runtime/core/bytecode/evaluate/tuple_order.h"

#include <algorithm>

#include "runtime/core/base/fault_injection.h"

namespace sial {

void TupleOrder::at(std::int64_t number, const Counts& counts, Counts& values) const {
  std::int64_t tuples = 1;  // of the faster indices' whole ranges, and of the groups of the slower ones
  for (std::size_t d = 0; d < n_; ++d) tuples *= counts[static_cast<std::size_t>(steps_[d].index)];
  Counts size{};  // of the groups
  for (std::size_t d = n_; d-- > 0;) {
    const auto index = static_cast<std::size_t>(steps_[d].index);
    const std::int64_t of_one_value = tuples / counts[index], of_group = of_one_value * steps_[d].group;
    std::int32_t first = static_cast<std::int32_t>(number / of_group) * steps_[d].group;
    if (fault_enabled(Fault::order_last_group)) first = std::min(first, counts[index] - steps_[d].group);
    number %= of_group;
    values[index] = first;
    size[d] = std::min(steps_[d].group, counts[index] - first);
    tuples = of_one_value * size[d];
  }
  for (std::size_t d = 0; d < n_; ++d) {
    values[static_cast<std::size_t>(steps_[d].index)] += static_cast<std::int32_t>(number % size[d]);
    number /= size[d];
  }
}

std::int64_t TupleOrder::number_of(const Counts& values, const Counts& counts) const {
  std::int64_t tuples = 1, number = 0, inside = 0;
  for (std::size_t d = 0; d < n_; ++d) tuples *= counts[static_cast<std::size_t>(steps_[d].index)];
  for (std::size_t d = n_; d-- > 0;) {
    const auto index = static_cast<std::size_t>(steps_[d].index);
    const std::int64_t of_one_value = tuples / counts[index];
    const std::int32_t within = values[index] % steps_[d].group, first = values[index] - within;
    const std::int32_t size = std::min(steps_[d].group, counts[index] - first);
    number += first * of_one_value;
    tuples = of_one_value * size;
    inside = inside * size + within;
  }
  return number + inside;
}

}  // namespace sial
