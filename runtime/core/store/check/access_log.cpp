#include "runtime/core/store/check/access_log.h"

namespace sial {

AccessStats& AccessLog::at(Place place, ArrayId array) {
  const auto program = static_cast<std::size_t>(place.program < 0 ? 0 : place.program);
  const auto pc = static_cast<std::size_t>(place.pc < -1 ? 0 : place.pc + 1);
  if (program >= first_.size()) first_.resize(program + 1);
  if (pc >= first_[program].size()) first_[program].resize(pc + 64, 0);
  const std::int32_t first = first_[program][pc];
  for (std::int32_t row = first; row != 0; row = next_[row - 1])
    if (rows_[row - 1].array == array) return rows_[row - 1];
  AccessStats fresh;
  fresh.place = place;
  fresh.array = array;
  rows_.push_back(fresh);
  next_.push_back(first);
  first_[program][pc] = static_cast<std::int32_t>(rows_.size());
  return rows_.back();
}

}  // namespace sial
