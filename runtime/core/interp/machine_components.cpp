#include "runtime/core/interp/machine_components.h"

#include <algorithm>

#include <fmt/format.h>

#include "runtime/core/base/bytes.h"
#include "runtime/core/bytecode/layout.h"

namespace sial {

MachineComponents::MachineComponents(const Module& module, std::int32_t sequence, const Environment& environment,
                                     const MachineOptions& options)
    : context(module, sequence, environment, options),
      handlers{{context, registers, position, loops, progress, pardo, hooks, own, profile, barrier},
               {context, registers},
               {context, registers, operands, arithmetic},
               {context, registers, device, memory, own, statics, regions, operands, arithmetic, profile},
               {context, device, puts, own, regions, operands, pardo, position, fused, profile},
               {context, puts, operands, hooks},
               {context, registers, device, memory, puts, operands, hooks, profile},
               {context, registers, statics, pardo, check, barrier, profile},
               {context, registers, statics, puts, marks, check},
               {context, registers, operands, statics, regions},
               {context, device, operands, arithmetic, arguments, calls, fused, profile},
               {context, device, operands}} {}

MachineComponents::~MachineComponents() {
  own.drop_retired();
  puts.abandon();
  device.end();
  own.release_all();
  regions.release_all();
  statics.release_all();
}

namespace {

using MemoryUse = std::vector<std::pair<std::string, std::int64_t>>;  // bytes by what has them

std::string named_array(const BoundArray& array) {
  return fmt::format("{} `{}`", array_kind_text(array.kind), array.name);
}

std::int64_t doubles_of(const MachineComponents& parts, ArrayId id) {
  std::int64_t doubles = parts.statics.find(id) ? parts.context.bound.arrays[id.at()].whole.size() : 0;
  parts.own.of(id).for_each([&](const BlockMap::Entry& e) { doubles += e.size; });
  for (const Region& r : parts.regions.of(id)) doubles += r.shape.size();
  return doubles;
}

MemoryUse memory_held(const MachineComponents& parts) {
  MemoryUse held = parts.context.env.store.monitor().memory_held();
  const std::vector<BoundArray>& arrays = parts.context.bound.arrays;
  for (std::size_t a = 0; a < arrays.size(); ++a)
    if (const std::int64_t doubles = doubles_of(parts, ArrayId(a)); doubles > 0)
      held.emplace_back(named_array(arrays[a]) + " on this rank", doubles * 8);
  std::stable_sort(held.begin(), held.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  if (held.size() > 4) held.resize(4);
  return held;
}

}  // namespace

OutOfMemory memory_error(const MachineComponents& parts, const OutOfMemory& error, Statement here) {
  const MemoryUse held = memory_held(parts);
  std::string largest;
  std::int64_t rest = error.used();
  for (const auto& [what, bytes] : held) rest -= bytes;
  for (const auto& [what, bytes] : held)
    largest += fmt::format("{}{} ({})", largest.empty() ? "; the largest: " : ", ", what, bytes_text(bytes));
  if (!held.empty() && rest > 0) largest += fmt::format(", all else ({})", bytes_text(rest));
  const ArrayId array = parts.memory.allocating();
  const bool knows_what = array == no_array || !error.where().empty();
  const std::string wanted =
      knows_what ? error.wanted()
                 : fmt::format("{} ({})", named_array(parts.context.bound.arrays[array.at()]), error.wanted());
  return OutOfMemory(wanted, error.used(), error.situation() + largest, error.least(),
                     error.where().empty() ? parts.context.place_name(here) : error.where());
}

}  // namespace sial
