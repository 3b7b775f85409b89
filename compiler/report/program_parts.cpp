#include "compiler/report/program_parts.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/core/base/error.h"
#include "runtime/core/bytecode/layout.h"

namespace sial::report {
namespace {

bool draws(Opcode op) { return op == Opcode::pardo_begin || op == Opcode::pardo_next || op == Opcode::body_begin; }

}  // namespace

/// Ranks meet in a loop, or run a pardo together, also in what it calls.
bool Parts::has_synchronization(const LoopRow& loop) const {
  std::set<std::int32_t> seen;
  const auto within = [&](const auto& self, std::int32_t begin, std::int32_t end) -> bool {
    for (std::int32_t pc = begin; pc < end; ++pc) {
      const Instruction& in = m_.code[static_cast<std::size_t>(pc)];
      if (has(in.op, op::collective) || in.op == Opcode::pardo_begin) return true;
      if (in.op != Opcode::call || !seen.insert(in.a).second) continue;
      const ProcRow& proc = m_.procs[static_cast<std::size_t>(in.a)];
      if (self(self, proc.entry, proc.end)) return true;
    }
    return false;
  };
  return within(within, loop.begin, loop.end);
}

/// The events from `first` on are those of a loop in which ranks meet.
void Parts::repeat(std::size_t first, std::int32_t loop) {
  const auto begin = events_.begin() + static_cast<std::ptrdiff_t>(first);
  const auto synchronization = std::find_if(
      begin, events_.end(), [](const Event& e) { return e.what == What::synchronization || e.what == What::barrier; });
  if (synchronization == events_.end() || synchronization->turn != Turn::every) return;  // an inner loop's
  const std::int32_t pc = synchronization->row;
  std::vector<Event> again;
  for (auto e = begin; e <= synchronization; ++e) {
    if (e->turn != Turn::every) continue;
    e->turn = Turn::first;
    e->loop = loop;
    e->synchronization = pc;
    again.push_back(*e);
    again.back().turn = Turn::other;
  }
  events_.insert(events_.end(), again.begin(), again.end());
}

void Parts::follow(std::int32_t begin, std::int32_t end, std::set<std::int32_t>& callers) {
  constexpr std::size_t max_events = 100'000;
  for (std::int32_t pc = begin; pc < end && events_.size() < max_events; ++pc) {
    const Instruction& in = m_.code[static_cast<std::size_t>(pc)];
    if (const std::int32_t part = part_of_pc(pc); part >= 0 && pc == m_.loops[static_cast<std::size_t>(part)].begin) {
      events_.push_back({What::part, part});
      pc = m_.loops[static_cast<std::size_t>(part)].next;
    } else if ((in.op == Opcode::do_begin || in.op == Opcode::sub_begin) &&
               has_synchronization(m_.loops[static_cast<std::size_t>(in.a)])) {
      const LoopRow& loop = m_.loops[static_cast<std::size_t>(in.a)];
      const std::size_t first = events_.size();
      follow(pc + 1, loop.next, callers);
      repeat(first, in.a);
      pc = loop.next;
    } else if (in.op == Opcode::call && callers.insert(in.a).second) {
      follow(m_.procs[static_cast<std::size_t>(in.a)].entry, m_.procs[static_cast<std::size_t>(in.a)].end, callers);
      callers.erase(in.a);
    } else if (has(in.op, op::collective)) {
      events_.push_back({has(in.op, op::ends_phase) ? What::barrier : What::synchronization, pc});
    } else if (in.op == Opcode::keep_copies) {
      events_.push_back({What::keep, in.a});
    } else if (op_class(in.op) == OpClass::put) {
      events_.push_back({What::put, pc});
    }
  }
}

namespace {

bool gets(const SliceRow& slice) {
  return std::any_of(slice.steps.begin(), slice.steps.end(),
                     [](const SliceStep& s) { return s.action == SliceAction::fetch; });
}

}  // namespace

Parts::Parts(const Module& m) : m_(m), part_(m.code.size(), -1) {
  for (const LoopKind kind : {LoopKind::pardo, LoopKind::do_})  // what is serial inside of a pardo is the pardo's
    for (std::size_t l = 0; l < m.loops.size(); ++l) {
      const LoopRow& loop = m.loops[l];
      if (loop.kind != kind || part_[static_cast<std::size_t>(loop.begin)] >= 0) continue;
      if (kind == LoopKind::do_ &&
          (std::none_of(m.slices.begin(), m.slices.end(),
                        [&](const SliceRow& s) { return s.loop == static_cast<std::int32_t>(l) && gets(s); }) ||
           has_synchronization(loop)))
        continue;
      for (std::int32_t pc = loop.begin; pc < loop.end; ++pc)
        part_[static_cast<std::size_t>(pc)] = static_cast<std::int32_t>(l);
    }
  for (bool changed = true; changed;) {  // down the calls; every pass decides one more level
    changed = false;
    for (std::size_t pc = 0; pc < m.code.size(); ++pc) {
      if (m.code[pc].op != Opcode::call || part_[pc] < 0) continue;
      const ProcRow& proc = m.procs[static_cast<std::size_t>(m.code[pc].a)];
      for (std::int32_t at = proc.entry; at < proc.end; ++at)
        if (part_[static_cast<std::size_t>(at)] < 0) part_[static_cast<std::size_t>(at)] = part_[pc], changed = true;
    }
  }
  std::set<LineKey> others;
  for (std::size_t pc = 0; pc < m.code.size(); ++pc) {
    const LineKey line = line_of(static_cast<std::int32_t>(pc));
    const auto [it, fresh] = part_of_.try_emplace(line, part_[pc]);
    if (!fresh && it->second < 0) it->second = part_[pc];
    if (has(m.code[pc].op, op::collective)) synchronizations_.insert(line);
    (draws(m.code[pc].op) ? draws_ : others).insert(line);
  }
  for (const LineKey& line : others) draws_.erase(line);
  std::int32_t end = static_cast<std::int32_t>(m.code.size());
  for (const ProcRow& p : m.procs)
    if (p.entry > m.main_entry) end = std::min(end, p.entry);
  std::set<std::int32_t> callers;
  follow(m.main_entry, end, callers);
  std::erase_if(synchronizations_, [&](const LineKey& line) { return part_of_.at(line) >= 0; });
}

std::int32_t Parts::part_of(const LineKey& line) const {
  const auto found = part_of_.find(line);
  return found == part_of_.end() ? -2 : found->second;
}

Sizes::Sizes(const Module& m, const Run& run) : m_(m), run_(run) {
  if (!run.job)
    throw SialError(fmt::format("`{}` does not say what values and segments the job had", run.path),
                    "run the program again with this version of sialrun");
  const JobValues& job = *run.job;
  const auto number = [&](const std::string& name) {
    const auto found = job.ints.find(name);
    if (found == job.ints.end())
      throw SialError(fmt::format("`{}` has no value for the predefined int `{}`", run.path, name),
                      "give the run.json that sialrun wrote");
    return found->second;
  };
  ints_.assign(std::max<std::size_t>(static_cast<std::size_t>(m.n_int_registers), m.ints.size()), 0);
  for (std::size_t i = 0; i < m.ints.size(); ++i)
    ints_[i] = m.ints[i].predefined ? number(m.ints[i].name) : m.ints[i].initial;
  scalars_.assign(std::max<std::size_t>(static_cast<std::size_t>(m.n_scalar_registers), m.scalars.size()), 0.0);
  for (std::size_t i = 0; i < m.scalars.size(); ++i) {
    scalars_[i] = m.scalars[i].initial;
    if (!m.scalars[i].predefined) continue;
    if (const auto found = job.scalars.find(m.scalars[i].name); found != job.scalars.end()) scalars_[i] = found->second;
    else if (const auto whole = job.ints.find(m.scalars[i].name); whole != job.ints.end()) scalars_[i] = whole->second;
  }
  const auto bound = [&](const Bound& b) { return b.symbolic ? ints_[static_cast<std::size_t>(b.value)] : b.value; };
  for (const IndexRow& row : m.indices) {
    IndexRange range{1, subsegments_per_segment, true};
    if (row.kind == IndexKind::sub) {
      range.usable = ranges_[row.parent.at()].usable;
    } else {
      range = {bound(row.lo), bound(row.hi), true};
      if (row.kind != IndexKind::simple && range.lo <= range.hi) {
        const auto segments = job.segments.find(kind_name(row.kind));
        range.usable = range.lo >= 1 && segments != job.segments.end() &&
                       range.hi <= static_cast<std::int32_t>(segments->second.size());
      }
    }
    ranges_.push_back(range);
    firsts_.push_back(range.lo);
  }
}

double Sizes::extent(IndexId index, std::int32_t segment) const {
  const IndexRow& row = m_.indices[index.at()];
  if (row.kind == IndexKind::simple) return 1;
  if (row.kind == IndexKind::sub)
    return extent(row.parent, segment / subsegments_per_segment) / subsegments_per_segment;
  const auto segments = run_.job->segments.find(kind_name(row.kind));
  if (segments == run_.job->segments.end() || segment < 1 ||
      segment > static_cast<std::int32_t>(segments->second.size()))
    return 1;
  return segments->second[static_cast<std::size_t>(segment - 1)];
}

double Sizes::mean_extent(IndexId index) const {
  const IndexRow& row = m_.indices[index.at()];
  if (row.kind == IndexKind::simple) return 1;
  if (row.kind == IndexKind::sub) return mean_extent(row.parent) / subsegments_per_segment;
  const IndexRange& range = ranges_[index.at()];
  double sum = 0;
  for (std::int32_t s = range.lo; s <= range.hi; ++s) sum += extent(index, s);
  return range.lo <= range.hi ? sum / (range.hi - range.lo + 1) : 1;
}

double Sizes::bytes(const FetchRequest& get) const {
  const ArrayRow& array = m_.arrays[get.array.at()];
  double n = 8;
  for (std::size_t d = 0; d < array.dims.size(); ++d) n *= extent(array.dims[d], get.block.segment[d]);
  return n;
}

double Sizes::bytes(const RefRow& ref) const {
  double n = 8;
  for (const IndexId dim : m_.arrays[ref.array.at()].dims) n *= mean_extent(dim);
  return n;
}

}  // namespace sial::report
