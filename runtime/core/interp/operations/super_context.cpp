#include "runtime/core/interp/operations/super_context.h"

#include <algorithm>
#include <ostream>

namespace sial {

MachineContext::MachineContext(const RunContext& context, const Registers& registers, const Position& position,
                               const OwnBlocks& own, Statics& statics, const Regions& regions,
                               const SuperArguments& arguments)
    : context_(context),
      registers_(registers),
      position_(position),
      own_(own),
      statics_(statics),
      regions_(regions),
      arguments_(arguments),
      silent_(std::make_unique<std::ostream>(nullptr)) {}

const JobData& MachineContext::job() const { return context_.env.job; }
int MachineContext::rank() const { return context_.worker(); }
int MachineContext::size() const { return context_.workers(); }

std::ostream& MachineContext::out() {
  // A stream without a buffer swallows everything and sets its bad bit; clear it so that bodies may test it.
  silent_->clear();
  return context_.prints() ? context_.env.out : *silent_;
}

void MachineContext::set_all_ranks_print(bool on) { context_.env.state.all_ranks_print = on; }

const double* MachineContext::scalar_by_name(std::string_view name) const {
  const auto& table = context_.module.scalars;
  for (std::size_t i = 0; i < table.size(); ++i)
    if (table[i].name == name) return &registers_.scalars()[i];
  return nullptr;
}

void MachineContext::list_own_blocks(std::ostream& out, ArrayId id, bool with_numbers) const {
  const BoundArray& array = context_.bound.arrays[id.at()];
  std::vector<std::uint64_t> keys;
  own_.of(id).for_each([&](const BlockMap::Entry& e) { keys.push_back(e.key); });
  std::sort(keys.begin(), keys.end());
  for (std::uint64_t key : keys) {
    BlockIndex block;
    block.rank = array.rank;
    std::uint64_t rest = key;
    for (int d = array.rank - 1; d >= 0; --d) {
      block.segment[d] = array.dim[d].lo + static_cast<std::int32_t>(rest / array.dim[d].key_stride);
      rest %= array.dim[d].key_stride;
    }
    out << block_name(array, block);
    if (with_numbers) {
      // Numbers count with the last index fastest, from 0.
      std::int64_t number = 0;
      for (int d = 0; d < array.rank; ++d)
        number = number * array.dim[d].count() + (block.segment[d] - array.dim[d].lo);
      out << ' ' << number;
    }
    out << '\n';
  }
}

void MachineContext::list_blocks(std::ostream& out, bool with_numbers) const {
  for (std::size_t a = 0; a < context_.bound.arrays.size(); ++a) {
    const ArrayId id(a);
    const BoundArray& array = context_.bound.arrays[a];
    list_own_blocks(out, id, with_numbers);
    for (const Region& r : regions_.of(id)) out << region_name(array, r.bounds) << '\n';
    if (statics_.find(id)) out << array.name << '\n';
  }
}

std::shared_ptr<void>& MachineContext::slot(std::string_view family) {
  auto& slots = context_.env.state.super_slots;
  const auto found = slots.find(family);
  return found != slots.end() ? found->second : slots[std::string(family)];
}

const double* MachineContext::find_cached(const BlockIndex& block, std::int64_t size) {
  return context_.env.store.integral_cache().find_cached(block, size);
}
void MachineContext::release_cached(const double* data) { context_.env.store.integral_cache().release_cached(data); }
double* MachineContext::allocate_cached(std::int64_t size) {
  return context_.options.keep_integrals ? context_.env.store.integral_cache().allocate_cached(size) : nullptr;
}
void MachineContext::keep_block(const BlockIndex& block, double* data) {
  context_.env.store.integral_cache().keep_block(block, data);
}

SuperArg MachineContext::array_by_name(std::string_view name) {
  const std::vector<BoundArray>& arrays = context_.bound.arrays;
  const auto found = std::find_if(arrays.begin(), arrays.end(), [&](const BoundArray& a) { return a.name == name; });
  if (found == arrays.end()) return {};
  const ArrayId id(static_cast<std::size_t>(found - arrays.begin()));
  SuperArg arg = arguments_.describe_array(id);
  if (found->kind == ArrayKind::static_) {
    arg.data = statics_.whole(id, Intent::update, position_.current());
    arg.shape = found->whole;
  } else if (found->kind == ArrayKind::contiguous_local && regions_.of(id).size() == 1) {
    const Region& region = regions_.of(id).front();
    arg.data = region.data;
    arg.shape = region.shape;
    regions_.on_host(region, Intent::update, position_.current());
  }
  return arg;
}

}  // namespace sial
