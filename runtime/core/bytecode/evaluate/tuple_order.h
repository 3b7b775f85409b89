#pragma once
// The order in which the combinations of a parallel loop's index values are numbered. As written the first index is the
// fastest. Another order ranks the indices anew, and takes some of them in groups: groups are the outer loops, the
// segments of a group the inner ones, both with the first index of the order as the fastest. The last group of an index
// is as short as its range makes it. Each combination has one number in every order. A plain value.

#include <array>
#include <cstdint>

#include "runtime/core/base/shape.h"

namespace sial {

class TupleOrder {
 public:
  using Counts = std::array<std::int32_t, max_rank>;
  struct Step {
    std::int32_t index = 0;  // position among the loop's indices
    std::int32_t group = 1;  // of so many values; all of them: the index has inner loops only
    bool operator==(const Step&) const = default;
  };

  /// The next slower index. All indices of the loop get a step, each one; none at all is the order as written.
  void add(Step step) { steps_[n_++] = step; }

  bool as_written() const { return n_ == 0; }
  std::size_t size() const { return n_; }
  const Step& operator[](std::size_t n) const { return steps_[n]; }
  Step& operator[](std::size_t n) { return steps_[n]; }
  bool operator==(const TupleOrder&) const = default;

  /// For an order that is not as written: sets the values, counted from 0, of combination `number`; `counts`: of the
  /// indices' values.
  void at(std::int64_t number, const Counts& counts, Counts& values) const;
  /// The number of the combination with these values.
  std::int64_t number_of(const Counts& values, const Counts& counts) const;

 private:
  std::array<Step, max_rank> steps_{};
  std::size_t n_ = 0;
};

}  // namespace sial
