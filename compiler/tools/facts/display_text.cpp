#include "compiler/tools/facts/display_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace sial::facts {
namespace {

using report::bytes_number;
using report::count_number;
using report::flops_number;
using report::seconds_number;

constexpr std::size_t longest_formula = 48, longest_reason = 70;
constexpr double min_part = 1e-3;  // of the program's time that is worth a word after a line

std::string join(const std::vector<std::string>& parts, const char* separator) {
  return fmt::format("{}", fmt::join(parts, separator));
}

/// The first words of a sentence.
std::string shortened(const std::string& text) {
  std::size_t end = text.find_first_of(";:");
  if (end > longest_reason) end = text.size();
  if (end <= longest_reason) return text.substr(0, end);
  end = text.rfind(' ', longest_reason);
  return text.substr(0, end == std::string::npos ? longest_reason : end) + " ...";
}

/// The text for one execution: bytes and operations, as numbers or short formulas.
std::string each_text(const Facts& facts, const LineFacts& l) {
  std::vector<std::string> parts;
  if (l.executions) {
    const double n = std::max(*l.executions, 1.0);
    if (*l.executions == 0) return l.bytes_each.empty() ? "" : "never runs in this job";
    if (l.bytes > 0) parts.push_back(bytes_number(l.bytes / n));
    if (l.flops > 0) parts.push_back(flops_number(l.flops / n));
    if (parts.empty()) return {};
    if (l.at_most && l.measured && facts.run_of_this_text && facts.run_of_these_numbers)  // the run knows
      return fmt::format("{} x {}", join(parts, ", "),
                         count_number(static_cast<double>(l.measured->executions) / (l.each_rank ? facts.ranks : 1)));
    return fmt::format("{} x {}{}", join(parts, ", "), l.at_most ? "at most " : "", count_number(*l.executions));
  }
  if (!l.bytes_each.empty() && l.bytes_each.size() <= longest_formula) parts.push_back(l.bytes_each + " B");
  if (!l.flops_each.empty() && l.flops_each.size() <= longest_formula) parts.push_back(l.flops_each + " flop");
  return join(parts, ", ");
}

/// Whether the run's job is not the one that the other numbers are of.
bool of_other_numbers(const Facts& facts) { return !facts.numbers_from.empty() && !facts.run_of_these_numbers; }

std::string measured_text(const Facts& facts, const Measured& m) {
  std::string text = seconds_number(m.seconds);
  if (m.waits > 0) text += ", waits " + seconds_number(m.waits);
  if (of_other_numbers(facts)) text += " with other numbers";
  return text;
}

const report::RemarkLine* heaviest_missed(const Facts& facts, const LineFacts& l) {
  for (const std::size_t r : l.remarks)  // heaviest first
    if (facts.report.remarks[r].kind == RemarkKind::missed) return &facts.report.remarks[r];
  return nullptr;
}

std::string place_text(const Facts& facts, const SourcePlace& place) {
  if (place.file == 0) return fmt::format("{}", place.line);
  const std::string& name = facts.report.files[static_cast<std::size_t>(place.file)];
  return fmt::format("{}:{}", name.substr(name.find_last_of('/') + 1), place.line);
}

std::string extents_text(const std::vector<std::int32_t>& extents) {
  if (extents.empty()) return {};
  const auto [least, most] = std::minmax_element(extents.begin(), extents.end());
  if (*least == *most) return fmt::format(" of {}", *least);
  if (extents.size() <= 6) return fmt::format(" of {}", fmt::join(extents, ", "));
  return fmt::format(" of {} to {}", *least, *most);
}

std::string phase_start(const Facts& facts, const PhaseUse& phase) {
  std::vector<std::string> from;
  for (const SourcePlace& place : phase.from)
    from.push_back(place.line > 0            ? "line " + place_text(facts, place)
                   : phase.procedure.empty() ? "the start"
                                             : "the call");
  return fmt::format("from {}{}", join(from, " or "),
                     phase.procedure.empty() ? "" : fmt::format(" in proc {}", phase.procedure));
}

}  // namespace

std::string inlay(const Facts& facts, LineKey key) {
  const auto found = facts.lines.find(key);
  if (found == facts.lines.end()) return {};
  const LineFacts& l = found->second;
  std::vector<std::string> parts;
  if (std::string each = each_text(facts, l); !each.empty()) parts.push_back(std::move(each));
  else if (l.iterations) parts.push_back(fmt::format("{} iterations", count_number(*l.iterations)));
  if (l.measured && l.measured->seconds >= min_part * facts.seconds) parts.push_back(measured_text(facts, *l.measured));
  if (const report::RemarkLine* missed = heaviest_missed(facts, l))
    parts.push_back("missed: " + shortened(missed->text));
  return join(parts, " | ");
}

std::string hover(const Facts& facts, LineKey key) {
  const auto found = facts.lines.find(key);
  if (found == facts.lines.end()) return {};
  const LineFacts& l = found->second;
  std::vector<std::string> lines;
  std::vector<std::string> uses;
  for (const report::Deeds& d : l.line.deeds)
    uses.push_back(fmt::format("{} {}", report::deed_text(d.deed), fmt::join(d.arrays, ", ")));
  if (!uses.empty()) lines.push_back(join(uses, "; "));
  if (!l.line.loop.empty())
    lines.push_back(fmt::format("{}: {} iterations{}", l.line.loop, l.line.trips,
                                l.iterations ? fmt::format(", {} over the run", count_number(*l.iterations)) : ""));
  if (!l.times.empty()) {
    std::string text = fmt::format("runs {}{} times {}", l.at_most ? "at most " : "",
                                   l.executions ? count_number(*l.executions) : l.times,
                                   l.each_rank ? "on each rank" : "on all ranks together");
    if (l.executions) text += fmt::format(" ({}; numbers of {})", l.times, facts.numbers_from);
    lines.push_back(std::move(text));
  }
  const double n = l.executions ? std::max(*l.executions, 1.0) : 1.0;
  if (!l.bytes_each.empty())
    lines.push_back(l.executions ? fmt::format("blocks: {} each time, {} in all ({} bytes)", bytes_number(l.bytes / n),
                                               bytes_number(l.bytes), l.bytes_each)
                                 : fmt::format("blocks: {} bytes each time", l.bytes_each));
  if (l.moved > 0)
    lines.push_back(
        fmt::format("of these gets and puts move {}, as far as they go to another rank", bytes_number(l.moved)));
  if (!l.flops_each.empty())
    lines.push_back(l.executions ? fmt::format("operations: {} each time, {} in all ({} flop)",
                                               flops_number(l.flops / n), flops_number(l.flops), l.flops_each)
                                 : fmt::format("operations: {} flop each time", l.flops_each));
  if (l.measured) {
    const Measured& m = *l.measured;
    std::string text = fmt::format("last run{}: {} of a mean rank of {} (slowest {}), {} executions",
                                   facts.run_of_this_text ? "" : " (of an earlier version of this text)",
                                   seconds_number(m.seconds), facts.ranks, seconds_number(m.slowest), m.executions);
    if (m.waits > 0) text += fmt::format(", waits {}", seconds_number(m.waits));
    if (m.moved > 0) text += fmt::format(", {} moved", bytes_number(static_cast<double>(m.moved)));
    if (m.flops > 0) text += fmt::format(", {}", flops_number(m.flops));
    lines.push_back(std::move(text));
  }
  for (const std::size_t r : l.remarks) {
    const report::RemarkLine& remark = facts.report.remarks[r];
    lines.push_back(fmt::format("{}: {}{}", report::kind_text(remark.kind), remark.text,
                                remark.advice.empty() ? "" : "; " + remark.advice));
  }
  return join(lines, "\n");
}

std::string array_inlay(const Facts& facts, const std::string& name) {
  const auto found = facts.arrays.find(name);
  if (found == facts.arrays.end() || !found->second.blocks) return {};
  const ArrayFacts& a = found->second;
  return fmt::format("{} blocks of up to {}, {}", count_number(*a.blocks), bytes_number(*a.largest_block),
                     bytes_number(*a.bytes));
}

std::string array_hover(const Facts& facts, const std::string& name) {
  const auto found = facts.arrays.find(name);
  if (found == facts.arrays.end()) return {};
  const ArrayFacts& a = found->second;
  std::vector<std::string> names, lines;
  for (const Dimension& d : a.dims) names.push_back(d.index);
  lines.push_back(fmt::format("{}{}{} {}[{}]", a.predefined ? "predefined " : "", a.sparse ? "sparse " : "", a.kind,
                              a.name, join(names, ",")));
  for (const Dimension& d : a.dims) {
    std::string text = fmt::format("{}: {} {}", d.index, d.kind, d.range);
    if (d.segments && !d.range.starts_with("of ")) {
      const int n = std::max(0, d.segments->second - d.segments->first + 1);
      text += d.extents.empty() ? fmt::format(", {} values", n)
                                : fmt::format(", {} segments{}", n, extents_text(d.extents));
    }
    lines.push_back(std::move(text));
  }
  if (a.blocks)
    lines.push_back(fmt::format("{} blocks of {}{}, {} in all (numbers of {})", count_number(*a.blocks),
                                *a.smallest_block == *a.largest_block ? "" : bytes_number(*a.smallest_block) + " to ",
                                bytes_number(*a.largest_block), bytes_number(*a.bytes), facts.numbers_from));
  for (const auto& [deed, places] : a.places) {
    std::vector<std::string> where;
    for (const SourcePlace& place : places) where.push_back(place_text(facts, place));
    lines.push_back(
        fmt::format("{}: line{} {}", report::deed_text(deed), places.size() == 1 ? "" : "s", join(where, ", ")));
  }
  for (const PhaseUse& phase : a.phases)
    lines.push_back(fmt::format("phase {}: {}", phase_start(facts, phase), join(phase.deeds, ", ")));
  return join(lines, "\n");
}

}  // namespace sial::facts
