#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>

#include "compiler/analysis/bound_costs.h"
#include "compiler/analysis/operands.h"
#include "compiler/analysis/phases.h"
#include "compiler/report/lines.h"
#include "compiler/tools/facts/facts.h"
#include "compiler/tools/facts/numbers.h"
#include "runtime/core/base/error.h"
#include "runtime/core/bytecode/layout.h"

namespace sial::facts {
namespace {

std::string bound_text(const ir::Program& p, const Bound& bound) {
  return bound.symbolic ? p.ints[static_cast<std::size_t>(bound.value)].name : fmt::format("{}", bound.value);
}

Dimension dimension(const ir::Program& p, IndexId id, const std::optional<analysis::Job>& job) {
  const IndexRow& row = p.indices[id.at()];
  Dimension d{row.name, std::string(index_kind_text(row.kind)), {}, {}, {}};
  d.range = row.kind == IndexKind::sub ? "of " + p.indices[row.parent.at()].name
                                       : bound_text(p, row.lo) + ":" + bound_text(p, row.hi);
  if (!job) return d;
  const analysis::BoundRange range = analysis::BoundCosts(p, *job).range(id);
  d.segments = {range.lo, range.hi};
  if (row.kind != IndexKind::simple) d.extents = extents_of(p, *job, id);
  return d;
}

/// Blocks and bytes; those of dimensions that are cut into subsegments are not said.
void add_sizes(ArrayFacts& array) {
  double blocks = 1, smallest = 8, largest = 8, bytes = 8;
  for (const Dimension& d : array.dims) {
    if (!d.segments || d.range.starts_with("of ")) return;
    const int n = std::max(0, d.segments->second - d.segments->first + 1);
    blocks *= n;
    if (d.extents.empty()) {
      bytes *= n;
      continue;
    }
    double sum = 0;
    for (const std::int32_t e : d.extents) sum += e;
    bytes *= sum;
    smallest *= *std::min_element(d.extents.begin(), d.extents.end());
    largest *= *std::max_element(d.extents.begin(), d.extents.end());
  }
  array.blocks = blocks;
  array.smallest_block = smallest;
  array.largest_block = largest;
  array.bytes = bytes;
}

std::vector<std::string> deeds(const analysis::ArrayTouch& touch, bool remote) {
  std::vector<std::string> words;
  const auto word = [&](bool is, const char* text) {
    if (is) words.emplace_back(text);
  };
  if (remote) {
    word(touch.home.read, "fetched");
    word(touch.home.replaced, "put");
    word(touch.home.accumulated, "added to");
    word(touch.home.freed, "deleted");
  } else {
    word(touch.own.read, "read");
    word(touch.own.replaced, "written");
    word(touch.own.accumulated, "updated");
  }
  return words;
}

}  // namespace

analysis::Job job_of(const report::JobValues& values) {
  analysis::Job job;
  job.ints = values.ints;
  job.scalars = values.scalars;
  for (const auto& [name, kind] : segment_kinds)
    if (const auto extents = values.segments.find(name); extents != values.segments.end())
      job.segments[kind] = extents->second;
  return job;
}

std::vector<std::int32_t> extents_of(const ir::Program& program, const analysis::Job& job, IndexId index) {
  const IndexRow& row = program.indices[index.at()];
  if (row.kind == IndexKind::sub) {
    std::vector<std::int32_t> parts;  // a quarter of each of the parent's segments, at least an element
    for (const std::int32_t e : extents_of(program, job, row.parent))
      parts.insert(parts.end(), static_cast<std::size_t>(subsegments_per_segment),
                   std::max(1, e / subsegments_per_segment));
    return parts;
  }
  const analysis::BoundRange range = analysis::BoundCosts(program, job).range(index);
  const auto n = static_cast<std::size_t>(std::max(0, range.hi - range.lo + 1));
  if (row.kind == IndexKind::simple) return std::vector<std::int32_t>(n, 1);
  const auto table = job.segments.find(row.kind);
  if (table == job.segments.end() || range.lo < 1 ||
      static_cast<std::size_t>(std::max(0, range.hi)) > table->second.size())
    throw SialError(fmt::format("the job lacks segments of index `{}`", row.name), "give them with `--segments`");
  const auto first = table->second.begin() + (range.lo - 1);
  return {first, first + static_cast<std::ptrdiff_t>(n)};
}

void add_arrays(Facts& facts, const Input& input) {
  const ir::Program& p = input.program;
  std::optional<analysis::Job> job;
  if (input.numbers) job = job_of(input.numbers->values);
  for (const ArrayRow& row : p.arrays) {
    ArrayFacts& array = facts.arrays[row.name];
    array.name = row.name;
    array.kind = array_kind_text(row.kind);
    array.predefined = row.predefined;
    array.sparse = row.sparse;
    for (const IndexId id : row.dims) array.dims.push_back(dimension(p, id, job));
    if (job) add_sizes(array);
  }
  for (std::size_t pc = 0; pc < input.module.code.size(); ++pc)
    report::for_each_use(input.module, input.module.code[pc], [&](ArrayId id, report::Deed deed) {
      const auto found = facts.arrays.find(input.module.arrays[id.at()].name);
      if (found == facts.arrays.end()) return;
      auto& places = found->second.places;
      auto of = std::find_if(places.begin(), places.end(), [&](const auto& entry) { return entry.first == deed; });
      if (of == places.end()) of = places.insert(places.end(), {deed, {}});
      const SourcePlace& place = input.module.places[pc];
      if (std::none_of(of->second.begin(), of->second.end(),
                       [&](const SourcePlace& other) { return other.file == place.file && other.line == place.line; }))
        of->second.push_back(place);
    });
  const analysis::Phases phases(p);
  for (std::size_t id = 0; id < phases.count(); ++id) {
    const auto phase = static_cast<analysis::PhaseId>(id);
    const std::int32_t proc = phases.proc_of(phase);
    for (const analysis::ArrayTouch& touch : phases.touches(phase)) {
      PhaseUse use;
      use.deeds = deeds(touch, analysis::is_remote_array(p, touch.array));
      if (use.deeds.empty()) continue;
      if (proc >= 0) use.procedure = p.procs[static_cast<std::size_t>(proc)].name;
      if (phases.entry(proc) == phase) use.from.emplace_back();
      for (const ir::Node* n : phases.begins(phase)) use.from.push_back(n->place);
      facts.arrays[analysis::array_name(p, touch.array)].phases.push_back(std::move(use));
    }
  }
}

}  // namespace sial::facts
