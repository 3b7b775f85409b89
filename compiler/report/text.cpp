#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

#include "compiler/report/model.h"

namespace sial::report {
namespace {

constexpr std::size_t longest_list = 20;

class Text {
 public:
  explicit Text(const Report& r) : r_(r) {}

  std::string text() {
    line("program {} ({})", r_.program, fmt::join(r_.files, ", "));
    line("  compiled by {} at -O{}, sources {}", r_.producer, r_.optimisation, r_.source_hash.substr(0, 16));
    const auto pardos = std::count_if(r_.loops.begin(), r_.loops.end(), [](const LoopLine& l) { return l.kind == "pardo"; });
    line("  {} instructions, {} loops ({} parallel), {} procedures called", r_.instructions, r_.loops.size(), pardos, r_.procedures);
    expected();
    indices();
    arrays();
    loops();
    mix();
    if (r_.run) run(*r_.run);
    return std::move(out_);
  }

 private:
  template <class... Args>
  void line(fmt::format_string<Args...> text, Args&&... args) {
    fmt::format_to(std::back_inserter(out_), text, std::forward<Args>(args)...);
    out_.erase(out_.find_last_not_of(' ') + 1);
    out_ += '\n';
  }

  void expected() {
    if (r_.expected_ints.empty() && r_.expected_scalars.empty() && r_.expected_arrays.empty()) return;
    line("\nvalues the job must give");
    if (!r_.expected_ints.empty()) line("  ints     {}", fmt::join(r_.expected_ints, ", "));
    if (!r_.expected_scalars.empty()) line("  scalars  {}", fmt::join(r_.expected_scalars, ", "));
    if (!r_.expected_arrays.empty()) line("  arrays   {}", fmt::join(r_.expected_arrays, ", "));
  }

  void indices() {
    if (r_.indices.empty()) return;
    line("\nindices\n  {:<16} {:<10} {:<20} {}", "name", "kind", "range", "segments");
    for (const IndexLine& i : r_.indices) line("  {:<16} {:<10} {:<20} {}", i.name, i.kind, i.range, i.segments);
  }

  void arrays() {
    if (r_.arrays.empty()) return;
    line("\narrays: number of statements that use them\n  {:<24} {:<17} {:>5} {:>5} {:>5} {:>5} {:>5} {:>5} {:>5}  {}", "name", "kind",
         "read", "write", "upd", "get", "put", "put+", "whole", "blocks");
    const auto n = [](int count) { return count == 0 ? std::string("-") : std::to_string(count); };
    std::vector<std::string> unused;
    for (const ArrayLine& a : r_.arrays) {
      if (a.uses.none()) {
        unused.push_back(a.name);
        continue;
      }
      const Uses& u = a.uses;
      line("  {:<24} {:<17} {:>5} {:>5} {:>5} {:>5} {:>5} {:>5} {:>5}  {}", fmt::format("{}[{}]", a.name, a.dims),
           (a.predefined ? "predef. " : a.sparse ? "sparse " : "") + a.kind, n(u.read), n(u.written), n(u.updated), n(u.fetched), n(u.put),
           n(u.accumulated), n(u.whole), a.blocks);
    }
    if (!unused.empty()) line("  never used: {}", fmt::join(unused, ", "));
  }

  void loops() {
    if (r_.loops.empty()) return;
    line("\nloops\n  {:<24} {:<36} {}", "place", "loop", "iterations");
    for (const LoopLine& l : r_.loops) {
      std::string notes = l.trips;
      if (l.wheres > 0) notes += fmt::format(", {} where", l.wheres);
      if (!l.pragma.empty()) notes += fmt::format(", pragma \"{}\"", l.pragma);
      if (l.rank_dependent) notes += ", static schedule";
      if (!l.part.empty() && l.depth == 0) notes += fmt::format(", in {}", l.part);
      line("  {:<24} {:<36} {}", l.place.substr(l.place.find_last_of('/') + 1), std::string(2 * static_cast<std::size_t>(l.depth), ' ') + l.kind + " " + l.indices, notes);
    }
  }

  void mix() {
    line("\ninstructions");
    for (const MixLine& m : r_.mix) line("  {:>7} {}", m.count, m.name);
    if (r_.specials.empty()) return;
    line("\nsuper instructions");
    for (const SpecialLine& s : r_.specials) line("  {:>7} {} {}", s.calls, s.name, s.signature);
  }

  void run(const Run& run) {
    line("\nrun on {} rank{}, hit ratio {:.4f}", run.ranks, run.ranks == 1 ? "" : "s", run.hit_ratio);
    for (const CounterLine& c : run.totals)
      if (c.value != 0) line("  {:<26} {:>16.6g}", c.name, c.value);
    if (!run.lines.empty()) line("\nmost expensive lines\n  {:>12} {:>12}  {}", "seconds", "executions", "place");
    for (std::size_t i = 0; i < std::min(longest_list, run.lines.size()); ++i)
      line("  {:>12.4f} {:>12}  {}", run.lines[i].seconds, run.lines[i].executions, run.lines[i].place);
    if (run.accesses.empty()) return;
    if (run.accesses[0].blocked == 0) return line("\nno use of a remote block had to wait");
    line("\nwaiting for remote blocks\n  {:>12} {:>12} {:>12}  {}", "seconds", "uses", "waited", "array");
    for (std::size_t i = 0; i < std::min(longest_list, run.accesses.size()) && run.accesses[i].blocked > 0; ++i) {
      const AccessLine& a = run.accesses[i];
      line("  {:>12.4f} {:>12} {:>12}  {} at {}", a.wait_seconds, a.accesses, a.blocked, a.array, a.place);
    }
  }

  const Report& r_;
  std::string out_;
};

}  // namespace

std::string to_text(const Report& report) { return Text(report).text(); }

}  // namespace sial::report
