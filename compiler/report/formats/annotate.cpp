// The sources with what is known about each line: to the left what a run measured, below what the statement does, what
// was predicted, and the remarks.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "compiler/report/formats/advice_print.h"
#include "compiler/report/writer.h"
#include "runtime/core/base/error.h"

namespace sial::report {
namespace {

class Listing : Writer {
 public:
  explicit Listing(const Report& r) : r_(r) {
    for (const SourceLine& l : r_.lines) facts_[{l.file, l.line}] = &l;
    if (!r_.run) return;
    std::map<std::string, int> files;
    for (std::size_t f = 0; f < r_.files.size(); ++f) files.emplace(r_.files[f], static_cast<int>(f));
    for (const CostLine& c : r_.run->lines)
      if (const auto file = files.find(c.file); file != files.end()) costs_[{file->second, c.line}] = &c;
    for (const AccessLine& a : r_.run->accesses) {
      const auto file = files.find(a.file);
      if (file == files.end()) continue;
      AccessLine& sum = accesses_[{file->second, a.line}];
      sum.accesses += a.accesses;
      sum.blocked += a.blocked;
      sum.moved += a.moved;
      sum.in_place += a.in_place;
      sum.wait_seconds += a.wait_seconds;
    }
  }

  std::string text() {
    line("program {}, compiled by {} at -O{}{}", r_.program, r_.producer, r_.optimisation,
         r_.run ? fmt::format("; run of {}", r_.run->path) : "");
    if (!r_.run) line("amounts: |i| elements per segment of index i, #i segments in its range");
    bool any = false;
    for (std::size_t f = 0; f < r_.sources.size(); ++f) any |= file(static_cast<int>(f));
    if (!any)
      throw InputError(fmt::format("no source file of program `{}` was found: {}", r_.program,
                                   r_.sources.empty() ? "none was looked for" : r_.sources.front().problem),
                       "name the folders of the sources with -I");
    return (r_.job ? advice_text(*r_.job, r_.program) : "") + take();
  }

 private:
  bool file(int f) {
    const SourceFile& source = r_.sources[static_cast<std::size_t>(f)];
    line("\n{}", source.found ? source.path : source.name);
    if (!source.problem.empty()) line("  note: {}", source.problem);
    if (!source.found) return false;
    if (r_.run)
      line("  {:>9} {:>9} {:>6} {:>10} {:>10} | {:>5} |", "time", "wait", "hits", "moved", "in place", "line");
    for (std::size_t n = 1; n <= source.lines.size(); ++n) {
      const std::pair key{f, static_cast<int>(n)};
      const auto found = facts_.find(key);
      const SourceLine* facts = found == facts_.end() ? nullptr : found->second;
      line("{}{:>5} | {}", gutter(key), n, source.lines[n - 1]);
      if (facts && !source.changed) below(*facts);
    }
    return true;
  }

  std::string gutter(std::pair<int, int> key) const {
    if (!r_.run) return "  ";
    const auto cost = costs_.find(key);
    const auto access = accesses_.find(key);
    const bool used = access != accesses_.end() && access->second.accesses > 0;
    const auto bytes = [&](std::int64_t n) {
      return access == accesses_.end() || n == 0 ? std::string() : bytes_number(static_cast<double>(n));
    };
    return fmt::format("  {:>9} {:>9} {:>6} {:>10} {:>10} | ",
                       cost == costs_.end() ? "" : seconds_number(cost->second->seconds),
                       used ? seconds_number(access->second.wait_seconds) : "",
                       used ? fmt::format("{:.3f}", access->second.hit_ratio()) : "",
                       access == accesses_.end() ? "" : bytes(access->second.moved),
                       access == accesses_.end() ? "" : bytes(access->second.in_place));
  }

  void note(const std::string& text) { line("{}      : {}", std::string(r_.run ? 53 : 2, ' '), text); }

  void below(const SourceLine& l) {
    std::vector<std::string> parts;
    for (const Deeds& d : l.deeds) parts.push_back(fmt::format("{} {}", deed_text(d.deed), fmt::join(d.arrays, ", ")));
    if (!l.loop.empty()) parts.push_back(fmt::format("{} iterations", l.trips));
    if (!parts.empty()) {
      std::vector<std::string> amounts;
      const auto amount = [&](const Amount& a, const char* what, const char* symbolic, std::string (*number)(double)) {
        if (!a.text.empty())
          amounts.push_back(a.value ? fmt::format("{} {}", number(*a.value), what)
                                    : fmt::format("{} {}", a.text, symbolic));
      };
      amount(l.executions, "executions", "executions", count_number);
      amount(l.get_bytes, "fetched", "bytes fetched", bytes_number);
      amount(l.put_bytes, "put", "bytes put", bytes_number);
      amount(l.flops, "of contractions", "flop of contractions", flops_number);
      if (!amounts.empty())
        parts.push_back(fmt::format("predicted{} {}", l.at_most ? " at most" : "", fmt::join(amounts, ", ")));
      if (const auto cost = costs_.find({l.file, l.line}); cost != costs_.end()) {
        parts.push_back(fmt::format("measured {} executions", cost->second->executions));
        if (cost->second->flops > 0)
          parts.back() += fmt::format(", {} of contractions", flops_number(cost->second->flops));
      }
      if (r_.run)
        if (const std::string copies = copies_at(*r_.run, r_.files[static_cast<std::size_t>(l.file)], l.line);
            !copies.empty())
          parts.push_back("measured " + copies);
      note(fmt::format("{}", fmt::join(parts, "; ")));
    }
    for (const std::size_t i : l.remarks) {
      const RemarkLine& r = r_.remarks[i];
      std::string costs;
      const auto cost = [&](const Amount& a, const char* unit, std::string (*number)(double)) {
        if (!a.text.empty())
          costs += (costs.empty() ? " (" : ", ") + (a.value ? number(*a.value) : fmt::format("{} {}", a.text, unit));
      };
      cost(r.all_bytes, "bytes", bytes_number);
      cost(r.all_flops, "flop", flops_number);
      if (!costs.empty())
        costs += r.kind == RemarkKind::passed ? " saved)" : r.kind == RemarkKind::missed ? " lost)" : ")";
      note(fmt::format("{}: {}{}{}", kind_text(r.kind), r.array.empty() ? "" : r.array + ": ", r.text, costs));
      if (!r.advice.empty()) note("  to change: " + r.advice);
    }
  }

  const Report& r_;
  std::map<std::pair<int, int>, const SourceLine*> facts_;
  std::map<std::pair<int, int>, const CostLine*> costs_;
  std::map<std::pair<int, int>, AccessLine> accesses_;
};

}  // namespace

std::string to_annotated(const Report& report) { return Listing(report).text(); }

}  // namespace sial::report
