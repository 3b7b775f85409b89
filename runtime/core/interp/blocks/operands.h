#pragma once
// From a reference in the program to memory: which block it means now, whether that exists, and the view through which
// it is used. resolve() is the one door; behind it stand the rank's own blocks, the store, and the device's copies of
// both, with the transfers that this needs. A view holds until the statement ends. Owned by the machine.

#include <array>
#include <cstdint>

#include <fmt/format.h>

#include "runtime/core/interp/blocks/located.h"
#include "runtime/core/interp/blocks/own_blocks.h"
#include "runtime/core/interp/blocks/regions.h"
#include "runtime/core/interp/blocks/statics.h"
#include "runtime/core/interp/context/loop_stack.h"

namespace sial {

class Operands {
 public:
  Operands(const RunContext& context, const Registers& registers, const LoopStack& loops, DeviceExecution& device,
           PutExecution& puts, OwnBlocks& own, Statics& statics, Regions& regions);

  const ResolvedReference& reference(std::int32_t ref) const { return context_.bound.refs[ref]; }
  const BoundArray& array_of(const ResolvedReference& ref) const { return context_.bound.arrays[ref.array.at()]; }

  Located locate(const ResolvedReference& ref, Statement here) const;
  Located locate(std::int32_t ref, Statement here) const { return locate(reference(ref), here); }
  /// Calls f(located block) for every block that a selector of allocate or deallocate names; wildcard entries run over
  /// the declared range.
  template <class F>
  void for_each_selected(const ResolvedReference& ref, Statement here, F&& f) const;

  /// The block as the statement uses it: read and update want one that exists, write makes one where there is none and
  /// replaces all that the reference names. The view is of the device's copy while an operation runs there.
  MutableView resolve(std::int32_t ref, Intent intent, Statement here);
  ConstView read(std::int32_t ref, Statement here) { return as_const(resolve(ref, Intent::read, here)); }

  /// The host's memory of a temp or local that exists, to be read.
  double* own_data(const ResolvedReference& ref, const Located& at, Statement here) const;
  /// This rank's present values of the block on the host, with the view of all of it; null where it has nothing.
  /// Nothing is made, waited for or brought up to date.
  const double* find(const ResolvedReference& ref, const Located& at, MutableView& view, Statement here) const;
  /// The block around a view of the host's memory.
  HostBlock host_block(const ResolvedReference& ref, const Located& at, const MutableView& view) const;
  /// Whether the device alone has the present value of a temp or local.
  bool on_device_only(std::int32_t ref, Statement here) const;

 private:
  [[noreturn]] void fail_range(const ResolvedReference& ref, int d, std::int32_t segment, Statement here) const;
  [[noreturn]] void fail_subindex(const ResolvedReference& ref, int d, Statement here) const;
  [[noreturn]] void fail_box(const ResolvedReference& ref, int d, Statement here) const;
  [[noreturn]] void fail_absent(const ResolvedReference& ref, const BlockIndex& block, Statement here) const;
  [[noreturn]] void fail_absent_temp(const std::string& block, const std::string& array, Statement here) const;

  MutableView to_read(const ResolvedReference& ref, const Located& at, Statement here) const;
  MutableView to_write(const ResolvedReference& ref, const Located& at, Intent intent, Statement here);
  double* own_to_write(const ResolvedReference& ref, const Located& at, Intent intent, Statement here);
  double* remote_to_write(const ResolvedReference& ref, const Located& at, Intent intent, Statement here);
  MutableView static_view(const ResolvedReference& ref, const Located& at, Statement here) const;
  MutableView existing_region_view(const ResolvedReference& ref, const Located& at, Statement here) const;
  bool region_view(const ResolvedReference& ref, const Located& at, MutableView& view) const;
  void place(const ResolvedReference& ref, const Located& at, Intent intent, Statement here, MutableView& view) const;

  const RunContext& context_;
  const Registers& registers_;
  const LoopStack& loops_;
  DeviceExecution& device_;
  PutExecution& puts_;
  OwnBlocks& own_;
  Statics& statics_;
  Regions& regions_;
};

template <class F>
void Operands::for_each_selected(const ResolvedReference& ref, Statement here, F&& f) const {
  const BoundArray& array = array_of(ref);
  context_.require_usable(array, here);
  Located at;
  std::array<std::int32_t, max_rank> lo{}, hi{};
  for (int d = 0; d < ref.rank; ++d) {
    const BoundDim& dim = array.dim[d];
    lo[d] = dim.lo;
    hi[d] = dim.hi;
    const ResolvedReference::Entry& entry = ref.entry[d];
    if (entry.mode == EntryMode::wildcard) continue;
    std::int32_t segment = registers_.index_value(entry.index, here);
    if (entry.mode == EntryMode::combined)
      segment = combined_segment(registers_.index_value(entry.parent, here), segment);
    if (entry.mode == EntryMode::box) fail_box(ref, d, here);
    if (segment < dim.lo || segment > dim.hi) fail_range(ref, d, segment, here);
    lo[d] = hi[d] = segment;
  }
  walk_blocks(array, lo, hi, at, f);
}

}  // namespace sial
