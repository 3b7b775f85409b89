#include "runtime/core/interp/context/profile.h"

#include <algorithm>
#include <tuple>

#include "runtime/core/bytecode/layout.h"

namespace sial {

Profile::Profile(const RunContext& context) : context_(context) {
  if (by_instruction()) instruction_costs_.resize(context.module.code.size());
}

std::string* Profile::record_kernel(Statement here, const char* method, double flops, double bytes, double seconds) {
  KernelUse& use = kernel_uses_[{here.pc, method}];
  ++use.calls;
  use.flops += flops;
  use.bytes += bytes;
  use.seconds += seconds;
  const double size = flops > 0 ? flops : bytes;
  if (size <= use.largest) return nullptr;
  use.largest = size;
  return &use.why;
}

void Profile::end_collective(Statement here, double begin) {
  const double end = context_.now();
  collective_seconds_ += end - begin;
  if (context_.env.trace) context_.env.trace->add(TraceKind::collective, context_.place(here), begin, end);
}

void Profile::share_cost(std::span<const GroupMember> members, double seconds, double compute) {
  double waited = 0.0, weight = 0.0;
  for (const GroupMember& m : members) {
    waited += m.waited;
    weight += m.weight;
  }
  for (const GroupMember& m : members) {
    InstructionCost& cost = instruction_costs_[m.pc];
    ++cost.executions;
    const double share = weight > 0.0 ? m.weight / weight : 0.0;
    cost.seconds += m.waited + share * std::max(0.0, seconds - waited);
    cost.compute += share * compute;
  }
}

void Profile::add_to(Stats& stats) const {
  stats[Counter::compute_time] += compute_seconds_;
#define ADD(counter, ...) __VA_OPT__(stats[Counter::counter] += static_cast<double>(__VA_ARGS__);)
#define COUNTED_machine(field) field
#define COUNTER(number, name, unit, combine, by, meaning) ADD(name, COUNTED_##by)
#include "runtime/core/stats/counters.def"
#undef ADD
  stats[Counter::flops] += flops_;
  stats[Counter::barrier_time] += collective_seconds_;
  for (CopyCost& c : copy_costs()) {
    stats[Counter::block_copies] += static_cast<double>(c.copied);
    stats[Counter::block_bytes_copied] += static_cast<double>(c.bytes_copied);
    stats[Counter::block_copies_elided] += static_cast<double>(c.elided);
    stats[Counter::block_bytes_elided] += static_cast<double>(c.bytes_elided);
    stats.copies.push_back(std::move(c));
  }
  for (KernelCost& k : kernel_costs()) stats.kernels.push_back(std::move(k));
  for (LineCost& l : line_costs()) stats.lines.push_back(std::move(l));
}

/// One row per source line and array.
std::vector<CopyCost> Profile::copy_costs() const {
  const Module& m = context_.module;
  std::map<std::tuple<std::int32_t, std::int32_t, ArrayId>, CopyCost> rows;
  const auto row = [&](const std::pair<std::int32_t, ArrayId>& key) -> CopyCost& {
    const SourcePlace& p = m.places[static_cast<std::size_t>(key.first)];
    return rows
        .try_emplace({p.file, p.line, key.second},
                     CopyCost{m.program, m.files.at(p.file), m.arrays.at(key.second.at()).name, p.line})
        .first->second;
  };
  for (const auto& [key, c] : copied_) {
    CopyCost& to = row(key);
    to.copied += c.blocks;
    to.bytes_copied += c.bytes;
  }
  for (const auto& [key, c] : elided_) {
    CopyCost& to = row(key);
    to.elided += c.blocks;
    to.bytes_elided += c.bytes;
  }
  std::vector<CopyCost> result;
  for (auto& [key, c] : rows) result.push_back(std::move(c));
  return result;
}

/// One row per instruction and method; the reduction makes lines of them.
std::vector<KernelCost> Profile::kernel_costs() const {
  const Module& m = context_.module;
  std::vector<KernelCost> result;
  for (const auto& [key, use] : kernel_uses_) {
    const SourcePlace& p = m.places[static_cast<std::size_t>(key.first)];
    result.push_back({m.program, m.files.at(static_cast<std::size_t>(p.file)), key.second, use.why, p.line, use.calls,
                      use.flops, use.bytes, use.seconds, use.largest});
  }
  return result;
}

/// Light instructions share the time that they took together by how often each ran.
std::vector<LineCost> Profile::line_costs() const {
  const Module& m = context_.module;
  double light_executions = 0;
  for (std::size_t pc = 0; pc < instruction_costs_.size(); ++pc)
    if (has(m.code[pc].op, op::light)) light_executions += static_cast<double>(instruction_costs_[pc].executions);
  std::map<std::pair<std::int32_t, std::int32_t>, LineCost> lines;
  for (std::size_t pc = 0; pc < instruction_costs_.size(); ++pc) {
    const InstructionCost& cost = instruction_costs_[pc];
    if (cost.executions == 0) continue;
    const SourcePlace& p = m.places[pc];
    LineCost& l = lines.try_emplace({p.file, p.line}, LineCost{m.program, m.files.at(p.file), p.line}).first->second;
    l.executions = std::max(l.executions, cost.executions);
    l.seconds += cost.seconds;
    l.compute_seconds += cost.compute;
    l.flops += cost.flops;
    if (has(m.code[pc].op, op::light))
      l.seconds += light_seconds_ * static_cast<double>(cost.executions) / light_executions;
  }
  std::vector<LineCost> result;
  for (auto& [key, l] : lines) result.push_back(std::move(l));
  return result;
}

}  // namespace sial
