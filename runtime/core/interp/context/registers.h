#pragma once
// The values that a program has beside its blocks: int and scalar registers, and the current values of its indices.
// They stay where they are for the whole run.

#include <cstdint>
#include <vector>

#include "runtime/core/interp/context/run_context.h"

namespace sial {

class CheckpointFile;
class Packer;
class Unpacker;

inline constexpr std::int32_t unbound_index = INT32_MIN;

class Registers {
 public:
  explicit Registers(const RunContext& context);

  std::int32_t& integer(std::int32_t slot) { return ints_[slot]; }
  std::int32_t integer(std::int32_t slot) const { return ints_[slot]; }
  double& scalar(std::int32_t slot) { return scalars_[slot]; }
  double scalar(std::int32_t slot) const { return scalars_[slot]; }

  /// An error where no loop binds the index.
  std::int32_t index_value(IndexId index, Statement here) const {
    const std::int32_t v = index_values_[index.at()];
    if (v == unbound_index) [[unlikely]]
      fail_unbound(index, here);
    return v;
  }
  /// A loop begins to run over the index; the verifier sees to it that no other one does.
  void open_index(IndexId index, std::int32_t value);
  void set_index(IndexId index, std::int32_t value) { index_values_[index.at()] = value; }
  void close_index(IndexId index) { index_values_[index.at()] = unbound_index; }
  std::int32_t& index_slot(IndexId index) { return index_values_[index.at()]; }

  const std::vector<std::int32_t>& ints() const { return ints_; }
  const std::vector<double>& scalars() const { return scalars_; }
  const std::vector<std::int32_t>& index_values() const { return index_values_; }

  void write(Packer& packer) const;
  void read(Unpacker& unpacker, const CheckpointFile& file);

 private:
  [[noreturn]] void fail_unbound(IndexId index, Statement here) const;

  const RunContext& context_;
  std::vector<std::int32_t> ints_;
  std::vector<double> scalars_;
  std::vector<std::int32_t> index_values_;  // unbound_index when no loop binds it
};

}  // namespace sial
