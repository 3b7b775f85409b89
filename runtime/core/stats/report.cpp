// The two faces of JobStats: run.json and the text summary.

#include <algorithm>
#include <cmath>
#include <ostream>
#include <utility>

#include <fmt/format.h>

#include "runtime/core/base/bytes.h"
#include "runtime/core/base/formats.h"
#include "runtime/core/base/json.h"
#include "runtime/core/base/output_file.h"
#include "runtime/core/stats/stats.h"

namespace sial {
namespace {

/// The place of a row; the numbers of costs.def follow.
template <class Row>
Json place_json(const Row& row) {
  return {{"program", row.program}, {"file", row.file}, {"line", row.line}};
}

Json counters_json(const Stats& stats) {
  Json j;
  for (const CounterRow& row : counter_rows()) {
    const auto index = &row - counter_rows().data();
    const double v = stats.value[index];
    if (!stats.has(static_cast<Counter>(index))) continue;
    if (std::string_view(row.unit) == "s") j[row.name] = v;
    else j[row.name] = static_cast<std::int64_t>(v);
  }
  return j;
}

Json numa_json(const NumaFacts& numa) {
  Json j{{"policy", numa.policy}, {"nodes", Json::array()}};
  for (const NumaFacts::Node& n : numa.nodes)
    j["nodes"].push_back({{"number", n.number}, {"bytes", n.bytes}, {"processors", n.processors}});
  for (const NumaFacts::Rank& r : numa.ranks)
    j["ranks"].push_back(
        {{"node", r.node}, {"rule", r.rule}, {"pages_by_node", r.pages}, {"bytes_in_large_pages", r.in_large_pages}});
  if (!numa.problems.empty()) j["problems"] = numa.problems;
  return j;
}

void facts_json(const RunFacts& facts, Json& j) {
  const auto object = [](const RunFacts::Pairs& pairs) {
    Json o = Json::object();
    for (const auto& [key, value] : pairs) o[key] = value;
    return o;
  };
  j["sialrun"] = facts.version;
  j["nodes"] = facts.nodes;
  j["servers"] = facts.servers;
  j["options"] = object(facts.options);
  j["machine"] = object(facts.machine);
  if (!facts.numa.nodes.empty()) j["memory_nodes"] = numa_json(facts.numa);
  j["job"] = {{"ints", facts.job.ints}, {"scalars", facts.job.scalars}, {"segments", facts.job.segments}};
  j["programs"] = Json::array();
  for (const ProgramFacts& p : facts.programs) {
    Json indices = Json::array();
    for (const IndexFacts& i : p.indices)
      indices.push_back({{"name", i.name}, {"kind", i.kind}, {"count", i.count}, {"mean_extent", i.mean_extent}});
    Json row{{"program", p.program}, {"source_hash", p.source_hash}, {"optimisation", p.optimisation},
             {"files", p.files},     {"sources", p.sources},         {"indices", std::move(indices)}};
    if (!p.kept.empty()) row["kept"] = p.kept;
    if (p.predicted_seconds > 0 && std::isfinite(p.predicted_seconds)) row["predicted_seconds"] = p.predicted_seconds;
    if (p.ran) {
      row["memory_high_water"] = p.memory_high_water;
      row["saved"] = Json::array();
      for (const SavedFacts& s : p.saved)
        row["saved"].push_back({{"label", s.label}, {"first_segment", s.first_segment}, {"extents", s.extents}});
    }
    for (const PardoOrderFacts& o : p.pardo_orders)
      row["pardo_orders"].push_back({{"file", o.file},
                                     {"line", o.line},
                                     {"order", o.order},
                                     {"refusal", o.refusal},
                                     {"bytes", o.bytes},
                                     {"bytes_as_written", o.bytes_as_written}});
    j["programs"].push_back(std::move(row));
  }
}

std::string code_text(const CodeCost& code) {
  const std::string state = code.state.empty() ? "none" : code.state;
  if (code.asked == 0) return "generated code: " + state;
  return fmt::format("generated code: {}; {} asked for, {} compiled in {:.3g} s, {} read from disk, {} failed", state,
                     code.asked, code.compiled, code.compile_seconds, code.from_disk, code.failed);
}

}  // namespace

std::string kernel_speed(const KernelCost& row) {
  if (row.seconds <= 0) return "-";
  return row.flops > 0 ? fmt::format("{:.2f} GFLOP/s", row.flops / row.seconds * 1e-9)
                       : fmt::format("{:.2f} GB/s", row.bytes / row.seconds * 1e-9);
}

void print_kernels(const JobStats& stats, std::ostream& out) {
  out << "block kernels, line by line; " << code_text(stats.total.code) << '\n';
  for (const KernelCost& k : stats.total.kernels)
    out << fmt::format("{}:{}: {}, {} call{}, {}: {}\n", k.file, k.line, k.method, k.calls, k.calls == 1 ? "" : "s",
                       kernel_speed(k), k.why);
  if (stats.total.kernels.empty()) out << "no block operation ran\n";
}

void write_stats_json(const JobStats& stats, const std::string& path) {
  Json j;
  j["format"] = run_json_format;
  facts_json(stats.facts, j);
  j["ranks"] = stats.per_rank.size();
  j["hit_ratio"] = stats.hit_ratio();
  j["total"] = counters_json(stats.total);
  for (const Stats& rank : stats.per_rank) j["per_rank"].push_back(counters_json(rank));
  j["lines"] = Json::array();
  const auto put = [](Json& row, const char* key, auto value) {
    if (*key != '\0') row[key] = value;
  };
  for (const LineCost& l : stats.total.lines) {
    Json row = place_json(l);
#define LINE_COST(type, field, combine, key) put(row, key, l.field);
#include "runtime/core/stats/costs.def"
    j["lines"].push_back(std::move(row));
  }
  j["remote_accesses"] = Json::array();
  for (const AccessCost& a : stats.total.accesses) {
    Json row = place_json(a);
    row["array"] = a.array;
#define ACCESS_COST(type, field, combine, key) put(row, key, a.field);
#define ACCESS_VALUE(key, expression) put(row, key, a.expression);
#include "runtime/core/stats/costs.def"
    j["remote_accesses"].push_back(std::move(row));
  }
  j["block_copies"] = Json::array();
  for (const CopyCost& c : stats.total.copies) {
    Json row = place_json(c);
    row["array"] = c.array;
#define COPY_COST(type, field, combine, key) put(row, key, c.field);
#include "runtime/core/stats/costs.def"
    j["block_copies"].push_back(std::move(row));
  }
  j["device_transfers"] = Json::array();
  for (const TransferCost& t : stats.total.transfers) {
    Json row = place_json(t);
    row["array"] = t.array;
#define TRANSFER_COST(field) row[#field] = t.field.transfers, row["bytes_" #field] = t.field.bytes;
#include "runtime/core/stats/costs.def"
    j["device_transfers"].push_back(std::move(row));
  }
  const CodeCost& code = stats.total.code;
  j["kernels"]["code"] = {{"state", code.state}};
#define CODE_COST(type, field) j["kernels"]["code"][#field] = code.field;
#include "runtime/core/stats/costs.def"
  j["kernels"]["choices"] = Json::array();
  for (const KernelCost& k : stats.total.kernels) {
    Json row = place_json(k);
    row["strategy"] = k.method;
    row["why"] = k.why;
#define KERNEL_COST(type, field, combine, key) put(row, key, k.field);
#include "runtime/core/stats/costs.def"
    j["kernels"]["choices"].push_back(std::move(row));
  }
  write_file(path, json_text(j) + '\n', Durability::until_crash, "choose another place with --output-dir");
}

/// By rank only where ranks differ from each other.
void print_numa(const NumaFacts& numa, std::ostream& out) {
  if (numa.nodes.empty()) return;
  out << fmt::format("  memory nodes: {}, --numa {}", numa.nodes.size(), numa.policy);
  for (const std::string& problem : numa.problems) out << "; the system refused: " << problem;
  std::int64_t large = 0;
  for (const NumaFacts::Rank& r : numa.ranks) large += r.in_large_pages;
  if (large > 0) out << fmt::format("; {} in large pages", bytes_text(large));
  out << '\n';
  if (numa.nodes.size() == 1) return;
  for (std::size_t r = 0; r < numa.ranks.size(); ++r) {
    const NumaFacts::Rank& rank = numa.ranks[r];
    out << fmt::format("    rank {}: blocks {}; pages found", r, rank.rule);
    bool any = false;
    for (std::size_t node = 0; node < rank.pages.size(); ++node)
      if (rank.pages[node] > 0)
        out << fmt::format("{} {} on node {}", std::exchange(any, true) ? "," : "", rank.pages[node], node);
    out << (any ? "\n" : " nowhere\n");
  }
}

void print_stats(const JobStats& stats, std::ostream& out) {
  out << fmt::format("statistics over {} rank{}\n", stats.per_rank.size(), stats.per_rank.size() == 1 ? "" : "s");
  out << "  rank      wall";
  for (const Counter c : wall_time_parts) {
    std::string name = counter_rows()[static_cast<int>(c)].name;
    out << fmt::format(" {:>15}", name.substr(0, name.rfind("_time")));
  }
  out << '\n';
  for (std::size_t r = 0; r < stats.per_rank.size(); ++r) {
    out << fmt::format("  {:>4} {:>9.3f}", r, stats.per_rank[r][Counter::wall_time]);
    for (const Counter c : wall_time_parts) out << fmt::format(" {:>15.3f}", stats.per_rank[r][c]);
    out << '\n';
  }
  print_numa(stats.facts.numa, out);
  const auto count = [&](Counter c) { return static_cast<std::int64_t>(stats.total[c]); };
  out << fmt::format("  remote blocks: {} uses, {} had to wait, hit ratio {:.4f}\n", count(Counter::accesses),
                     count(Counter::blocked_accesses), stats.hit_ratio());
  if (count(Counter::prefetches) > 0)
    out << fmt::format("  look-ahead: {} prefetches, {} useful, {} late, {} useless\n", count(Counter::prefetches),
                       count(Counter::prefetches_useful), count(Counter::prefetches_late),
                       count(Counter::prefetches_useless));
  if (count(Counter::cache_prefetches) > 0)
    out << fmt::format("  look-ahead: {} blocks brought into a cache before their use\n",
                       count(Counter::cache_prefetches));
  if (const double moved = stats.total[Counter::tier_bytes_written] + stats.total[Counter::tier_bytes_read]; moved > 0)
    out << fmt::format("  tiers: {} moved\n", bytes_text(static_cast<std::int64_t>(moved)));
  if (const Stats& t = stats.total; t.has(Counter::device_kernel_time))
    out << fmt::format(
        "  device: {:.3f} s at kernels, {:.3f} s at copies to it, {:.3f} s at copies from it; of {:.3f} s of copies {:.3f} s beside kernels; ranks waited {:.3f} s for it\n",
        t[Counter::device_kernel_time], t[Counter::device_in_time], t[Counter::device_out_time],
        t[Counter::device_copy_time], t[Counter::device_overlap_time], t[Counter::device_wait_time]);
  for (const CounterRow& row : counter_rows()) {
    const double v = stats.total.value[&row - counter_rows().data()];
    if (std::string_view(row.unit) != "s" && v != 0)
      out << fmt::format("  {:<24} {:>16.0f} {}\n", row.name, v, row.unit);
  }
  std::vector<LineCost> lines = stats.total.lines;
  std::sort(lines.begin(), lines.end(), [](const LineCost& a, const LineCost& b) { return a.seconds > b.seconds; });
  if (lines.size() > 15) lines.resize(15);
  if (!lines.empty()) out << "  most expensive lines\n       seconds   executions\n";
  for (const LineCost& l : lines)
    out << fmt::format("  {:>12.4f} {:>12}  {}:{}\n", l.seconds, l.executions, l.file, l.line);
  std::vector<KernelCost> kernels = stats.total.kernels;
  std::stable_sort(kernels.begin(), kernels.end(),
                   [](const KernelCost& a, const KernelCost& b) { return a.seconds > b.seconds; });
  if (kernels.size() > 15) kernels.resize(15);
  if (!kernels.empty())
    out << "  " << code_text(stats.total.code)
        << "\n  block kernels by time\n       seconds        calls           speed  way\n";
  for (const KernelCost& k : kernels)
    out << fmt::format("  {:>12.4f} {:>12} {:>15}  {} at {}:{}\n", k.seconds, k.calls, kernel_speed(k), k.method,
                       k.file, k.line);
  std::vector<CopyCost> copies = stats.total.copies;
  std::erase_if(copies, [](const CopyCost& c) { return c.copied == 0; });
  std::sort(copies.begin(), copies.end(),
            [](const CopyCost& a, const CopyCost& b) { return a.bytes_copied > b.bytes_copied; });
  if (copies.size() > 15) copies.resize(15);
  if (!copies.empty()) out << "  block copies\n         bytes       copies\n";
  for (const CopyCost& c : copies)
    out << fmt::format("  {:>12} {:>12}  {} at {}:{}\n", c.bytes_copied, c.copied, c.array, c.file, c.line);
  std::vector<TransferCost> transfers = stats.total.transfers;
  const auto moved = [](const TransferCost& t) { return t.in.bytes + t.out.bytes; };
  std::erase_if(transfers, [&](const TransferCost& t) { return moved(t) == 0; });
  std::stable_sort(transfers.begin(), transfers.end(),
                   [&](const TransferCost& a, const TransferCost& b) { return moved(a) > moved(b); });
  if (transfers.size() > 15) transfers.resize(15);
  if (!transfers.empty()) out << "  device transfers\n      bytes in    bytes out     as written\n";
  for (const TransferCost& t : transfers)
    out << fmt::format("  {:>12} {:>12} {:>14}  {} at {}:{}\n", t.in.bytes, t.out.bytes,
                       t.in_unoptimized.bytes + t.out_unoptimized.bytes, t.array, t.file, t.line);
  std::vector<AccessCost> waits = stats.total.accesses;
  std::sort(waits.begin(), waits.end(),
            [](const AccessCost& a, const AccessCost& b) { return a.wait_seconds > b.wait_seconds; });
  if (waits.size() > 15) waits.resize(15);
  if (!waits.empty())
    out << "  remote arrays by waiting time\n       seconds    mean wait   first wait         uses       waited   prefetched  array\n";
  for (const AccessCost& a : waits)
    out << fmt::format("  {:>12.4f} {:>12.3e} {:>12.3e} {:>12} {:>12} {:>12}  {} at {}:{}\n", a.wait_seconds,
                       a.mean_wait_seconds(), a.mean_first_wait_seconds(), a.accesses, a.blocked, a.prefetched, a.array,
                       a.file, a.line);
}

}  // namespace sial
