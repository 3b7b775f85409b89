#pragma once
// Values that stay as they are until their holder goes, which may be on any thread.

#include <memory>
#include <span>

namespace sial {

struct LeasedValues {
  std::span<const double> values;
  std::shared_ptr<const void> holder;
  bool copied = false;  // they have memory of their own, beside the blocks
};

}  // namespace sial
