// Losses of ranks by unequal shares of the work, by waiting for blocks, and for want of memory.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "compiler/report/advice/advice.h"
#include "compiler/report/writer.h"

namespace sial::report {
namespace {

/// Ranks that wait for each other after a parallel loop had unequal shares of it. What single lines took on the
/// slowest rank only says where: with iterations handed out one by one, ranks do different things at a time.
class Imbalance {
 public:
  Imbalance(const Job& job, const JobProgram& program)
      : job_(job), program_(program), m_(*program.module), sizes_(sizes_of(m_, program.run)) {
    for (const CostLine& line : program.run.lines) lines_[{line.file, line.line}] = &line;
  }

  void run(std::vector<Advice>& advice) {
    std::map<const LoopRow*, double> waited;
    std::set<std::pair<std::string, int>> counted;
    for (std::size_t pc = 0; pc < m_.code.size(); ++pc) {
      const LoopRow* loop = synchronizes(m_.code[pc].op) ? pardo_before(static_cast<std::int32_t>(pc)) : nullptr;
      const CostLine* line = loop ? at(static_cast<std::int32_t>(pc)) : nullptr;
      if (line && counted.emplace(line->file, line->line).second) waited[loop] += line->seconds / job_.ranks;
    }
    for (const auto& [loop, seconds] : waited) add(*loop, seconds, advice);
  }

 private:
  const CostLine* at(std::int32_t pc) const {
    const SourcePlace& place = m_.places[static_cast<std::size_t>(pc)];
    const auto found = lines_.find({m_.files[static_cast<std::size_t>(place.file)], place.line});
    return found == lines_.end() ? nullptr : found->second;
  }

  /// The last one that ends before, in the same procedure.
  const LoopRow* pardo_before(std::int32_t pc) const {
    std::int32_t begin = m_.main_entry;
    for (const ProcRow& proc : m_.procs)
      if (proc.entry <= pc && pc < proc.end) begin = proc.entry;
    const LoopRow* last = nullptr;
    for (const LoopRow& loop : m_.loops)
      if (loop.kind == LoopKind::pardo && loop.begin >= begin && loop.end <= pc && (!last || loop.end > last->end))
        last = &loop;
    return last;
  }

  void add(const LoopRow& loop, double seconds, std::vector<Advice>& advice) {
    const auto beyond_mean = [&](const CostLine& line) { return line.slowest_seconds - line.seconds / job_.ranks; };
    std::set<const CostLine*> lines;
    for (std::int32_t pc = loop.begin; pc < loop.end; ++pc)
      if (const CostLine* line = at(pc)) lines.insert(line);
    const CostLine* worst = nullptr;
    double unequal = 0;  // what the loop can explain; the rest is due to what else came before
    for (const CostLine* line : lines) {
      unequal += beyond_mean(*line);
      if (!worst || beyond_mean(*line) > beyond_mean(*worst)) worst = line;
    }
    if (!worst || std::min(seconds, unequal) < min_gain * job_.seconds) return;
    std::string text = "pardo ";
    double iterations = 1;
    for (const IndexId i : loop.indices) {
      text += (i == loop.indices.front() ? "" : ",") + m_.indices[i.at()].name;
      iterations *= sizes_[i.at()].count;
    }
    Advice a;
    a.kind = "imbalance";
    a.at = {program_.name, worst->file, worst->line};
    a.lines = {a.at};
    a.seconds = std::min(seconds, unequal);
    a.found = fmt::format(
        "behind `{}`, of {:.0f} iterations at most for {} ranks, a rank waits {} for the others; most unequal is this line, {} on the slowest rank, {} on a mean one",
        text, iterations, job_.ranks, seconds_number(seconds), seconds_number(worst->slowest_seconds),
        seconds_number(worst->seconds / job_.ranks));
    a.change =
        iterations < 20.0 * job_.ranks
            ? "smaller segments, or more indices in the pardo, give iterations that can be shared out more evenly"
            : "a few iterations take much longer than the others: smaller segments, or an inner loop of theirs as an index of the pardo";
    advice.push_back(std::move(a));
  }

  const Job& job_;
  const JobProgram& program_;
  const Module& m_;
  const std::vector<IndexSize> sizes_;
  std::map<std::pair<std::string, int>, const CostLine*> lines_;
};

void waits(const Job& job, std::vector<Advice>& advice) {
  for (const JobProgram& program : job.programs)
    for (const AccessLine& access : program.run.accesses) {
      const double lost = access.wait_seconds / job.ranks;
      if (lost < min_gain * job.seconds) continue;
      Advice a;
      a.kind = access.too_large > 0 ? "memory" : "waits";
      a.at = {program.name, access.file, access.line};
      a.lines = {a.at};
      a.seconds = lost;
      a.found =
          fmt::format("{} of {} uses of `{}` waited for their block", access.blocked, access.accesses, access.array);
      a.change =
          access.too_large > 0
              ? fmt::format(
                    "its blocks are too large to be fetched ahead in the memory of a rank: --memory {:.0f}MiB or more, or smaller segments",
                    std::ceil(static_cast<double>(access.enough_memory) / (1 << 20)))
              : "get the block earlier, in a loop whose iterations can be foreseen; `--only missed` says why it was not fetched ahead";
      if (program.module)
        for (const RemarkRow& remark : program.module->remarks)
          if (access.too_large == 0 && remark.kind == RemarkKind::missed && remark.pass == "access-slice" &&
              remark.place.line == access.line && !remark.advice.empty() &&
              program.module->files[static_cast<std::size_t>(remark.place.file)] == access.file)
            a.found += ", and it is not fetched ahead: " + remark.text, a.change = remark.advice;
      advice.push_back(std::move(a));
    }
}

}  // namespace

void add_rank_advice(const Job& job, std::vector<Advice>& advice) {
  for (const JobProgram& program : job.programs)
    if (program.module && job.ranks > 1) Imbalance(job, program).run(advice);
  waits(job, advice);
}

}  // namespace sial::report
