#include "runtime/interp/operations/super_context.h"

#include <algorithm>
#include <ostream>

#include "runtime/device/cache/block_cache.h"

namespace sial {

MachineContext::MachineContext(Machine& machine)
    : machine_(machine), silent_(std::make_unique<std::ostream>(nullptr)) {}

const JobData& MachineContext::job() const { return machine_.env_.job; }
int MachineContext::rank() const { return machine_.worker(); }
int MachineContext::size() const { return machine_.workers(); }

std::ostream& MachineContext::out() {
  // A stream without a buffer swallows everything and sets its bad bit; clear it so that bodies may test it.
  silent_->clear();
  return machine_.prints() ? machine_.env_.out : *silent_;
}

void MachineContext::set_all_ranks_print(bool on) { machine_.env_.state.all_ranks_print = on; }

const double* MachineContext::scalar_by_name(std::string_view name) const {
  const auto& table = machine_.m_->scalars;
  for (std::size_t i = 0; i < table.size(); ++i)
    if (table[i].name == name) return &machine_.scalars_[i];
  return nullptr;
}

void MachineContext::list_blocks(std::ostream& out, bool with_numbers) const {
  for (std::size_t a = 0; a < machine_.bound_.arrays.size(); ++a) {
    const BoundArray& array = machine_.bound_.arrays[a];
    std::vector<std::uint64_t> keys;
    machine_.blocks_[a].for_each([&](const BlockMap::Entry& e) { keys.push_back(e.key); });
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
    for (const Machine::Region& r : machine_.regions_[a])
      out << machine_.region_name(static_cast<std::int32_t>(a), r.lo, r.hi) << '\n';
    if (machine_.statics_[a]) out << array.name << '\n';
  }
}

std::shared_ptr<void>& MachineContext::slot(std::string_view family) {
  auto& slots = machine_.env_.state.super_slots;
  const auto found = slots.find(family);
  return found != slots.end() ? found->second : slots[std::string(family)];
}

const double* MachineContext::find_kept(const BlockIndex& block, std::int64_t size) {
  return machine_.env_.store.kept().find_kept(block, size);
}
void MachineContext::release_kept(const double* data) { machine_.env_.store.kept().release_kept(data); }
double* MachineContext::allocate_kept(std::int64_t size) {
  return machine_.options_.keep_integrals ? machine_.env_.store.kept().allocate_kept(size) : nullptr;
}
void MachineContext::keep_block(const BlockIndex& block, double* data) {
  machine_.env_.store.kept().keep_block(block, data);
}

SuperArg MachineContext::array_by_name(std::string_view name) {
  SuperArg arg;
  for (std::size_t a = 0; a < machine_.bound_.arrays.size(); ++a) {
    const BoundArray& array = machine_.bound_.arrays[a];
    if (array.name != name) continue;
    arg.name = array.name;
    if (array.kind == ArrayKind::static_) {
      arg.data = machine_.whole_static(static_cast<std::int32_t>(a), Intent::update);
      arg.shape = array.whole;
    } else if (array.kind == ArrayKind::contiguous_local && machine_.regions_[a].size() == 1) {
      arg.data = machine_.regions_[a].front().data;
      arg.shape = machine_.regions_[a].front().shape;
      if (machine_.copies_)
        machine_.copies_->buffer_on_host(arg.data, arg.shape.size(), Intent::update, machine_.statement());
    }
    arg.whole_array = true;
    for (int d = 0; d < array.rank; ++d) {
      arg.kind[d] = array.dim[d].kind;
      arg.offset[d] =
          elements_before(machine_.bound_.indices[array.dim[d].index], array.dim[d].is_sub ? 1 : array.dim[d].lo);
    }
    break;
  }
  return arg;
}

}  // namespace sial
