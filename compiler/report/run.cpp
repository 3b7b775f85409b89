// run.json, as sialrun writes it (runtime/core/stats/report.cpp).

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <sstream>

#include "compiler/report/model.h"
#include "compiler/report/old_formats.h"
#include "runtime/core/base/error.h"
#include "runtime/core/base/input_file.h"
#include "runtime/core/base/json.h"

namespace sial::report {
namespace {

std::string read_text(const std::string& path) {
  std::string problem;
  std::string text = read_file(path, input_limit::statistics, problem);
  if (problem.empty() && text.empty()) problem = "it is empty";
  if (!problem.empty()) throw InputError(fmt::format("cannot read the statistics file `{}`: {}", path, problem));
  return text;
}

Run::Pairs pairs(const Json& object) {
  Run::Pairs result;
  for (const auto& [key, value] : object.items())
    result.emplace_back(key, value.is_string() ? value.get<std::string>() : json_text(value, -1));
  return result;
}

std::vector<CounterLine> counters(const Json& object) {
  std::vector<CounterLine> result;
  for (const auto& [name, value] : object.items()) result.push_back({name, value.get<double>()});
  return result;
}

/// The program's place in the job, its findings and its needs there.
void read_program(Run& run, const Json& p) {
  run.number = static_cast<int>(run.programs.size()) - 1;
  run.optimisation = p.at("optimisation");
  if (p.contains("files")) {  // runs of older versions have none
    run.files = p.at("files");
    run.sources = p.at("sources");
  }
  if (p.contains("kept")) run.kept = p.at("kept");
  if (!p.contains("memory_high_water")) return;
  run.memory = p.at("memory_high_water").get<double>();
  if (p.contains("pardo_orders"))
    for (const Json& o : p.at("pardo_orders"))
      run.pardo_orders.push_back(
          {o.at("file"), o.at("line"), o.at("order"), o.at("refusal"), o.at("bytes"), o.at("bytes_as_written")});
  for (const Json& s : p.at("saved")) run.saved.push_back({s.at("label"), s.at("first_segment"), s.at("extents")});
}

/// `program` null: all.
void read_tables(Run& run, const Json& j, const std::string* program) {
  const auto wanted = [&](const Json& row) { return !program || row.at("program") == *program; };
  for (const Json& l : j.at("lines"))
    if (wanted(l))
      run.lines.push_back({l.at("file"), l.at("line"), l.at("executions"), l.at("seconds"), l.at("compute_seconds"),
                           l.at("slowest_rank_seconds"), l.at("flops")});
  for (const Json& a : j.at("remote_accesses"))
    if (wanted(a))
      run.accesses.push_back({a.at("file"), a.at("array"), a.at("line"), a.at("accesses"), a.at("blocked"),
                              a.at("bytes"), a.at("bytes_moved"), a.at("bytes_in_place"), a.at("wait_seconds"),
                              a.at("first_wait_seconds"), a.value("too_large", std::int64_t{0}),
                              a.value("too_large_bytes", std::int64_t{0}), a.value("enough_memory", std::int64_t{0}),
                              a.value("bytes_on_other_memory_nodes", std::int64_t{0})});
  if (j.contains("block_copies"))  // runs of older versions have none
    for (const Json& c : j.at("block_copies"))
      if (wanted(c))
        run.copies.push_back({c.at("file"), c.at("array"), c.at("line"), c.at("copied"), c.at("bytes_copied"),
                              c.at("elided"), c.at("bytes_elided")});
  if (j.contains("device_transfers"))  // likewise
    for (const Json& t : j.at("device_transfers")) {
      const auto count = [&](const std::string& name) {
        return TransferLine::Count{t.at(name), t.at("bytes_" + name)};
      };
      if (wanted(t))
        run.transfers.push_back({t.at("file"), t.at("array"), t.at("line"), count("in"), count("out"),
                                 count("in_unoptimized"), count("out_unoptimized"), count("in_lower_bound"),
                                 count("out_lower_bound")});
    }
  if (j.contains("kernels"))  // likewise
    for (const Json& k : j.at("kernels").at("choices"))
      if (wanted(k))
        run.kernels.push_back({k.at("file"),
                               k.at("strategy"),
                               k.at("why"),
                               k.at("line"),
                               k.at("calls"),
                               k.at("flops"),
                               k.at("bytes"),
                               k.at("seconds"),
                               false,
                               {}});
  std::stable_sort(run.kernels.begin(), run.kernels.end(),
                   [](const KernelLine& a, const KernelLine& b) { return a.seconds > b.seconds; });
  std::stable_sort(run.copies.begin(), run.copies.end(),
                   [](const CopyLine& a, const CopyLine& b) { return a.bytes_copied > b.bytes_copied; });
  std::stable_sort(run.transfers.begin(), run.transfers.end(),
                   [](const TransferLine& a, const TransferLine& b) { return a.bytes() > b.bytes(); });
  std::stable_sort(run.lines.begin(), run.lines.end(),
                   [](const CostLine& a, const CostLine& b) { return a.seconds > b.seconds; });
  std::stable_sort(run.accesses.begin(), run.accesses.end(),
                   [](const AccessLine& a, const AccessLine& b) { return a.wait_seconds > b.wait_seconds; });
}

Run read(const std::string& path, const std::string* program) {
  const std::string text = read_text(path);
  try {
    Json j = parse_json(text);
    if (j.is_object() && j.contains("ranks") && j.contains("per_rank") && !j.contains("format"))
      throw SialError(fmt::format("`{}` was written by an earlier sialrun and lacks what the report needs", path),
                      "run the program again with this version");
    const int format = j.at("format").get<int>();
    if (format < oldest_format || format > present_format)
      throw SialError(fmt::format("`{}` has format {}, and this sialreport reads formats {} to {}", path, format,
                                  oldest_format, present_format),
                      "use the sialreport that came with the sialrun which wrote it");
    use_present_names(j, format);
    Run run;
    run.path = path;
    run.version = j.at("sialrun");
    run.ranks = j.at("ranks");
    run.nodes = j.at("nodes");
    run.servers = j.at("servers");
    run.hit_ratio = j.at("hit_ratio");
    run.options = pairs(j.at("options"));
    run.machine = pairs(j.at("machine"));
    run.totals = counters(j.at("total"));
    for (const Json& rank : j.at("per_rank")) run.per_rank.push_back(counters(rank));
    if (j.contains("job")) {
      run.job = {j.at("job").at("ints"), j.at("job").at("scalars"), j.at("job").at("segments")};
      // What is predicted for other numbers of ranks computes with them.
      for (const auto& [kind, sizes] : run.job->segments)
        for (const auto size : sizes)
          if (size < 1 || size > std::numeric_limits<std::int32_t>::max())
            throw SialError(fmt::format("`{}` is not a statistics file: {} is not a size of a segment of kind {}", path,
                                        size, kind),
                            "give the run.json that sialrun wrote");
    }
    if (j.contains("kernels")) {
      const Json& code = j.at("kernels").at("code");
      run.code = {code.at("state"),     code.at("asked"),  code.at("compiled"),
                  code.at("from_disk"), code.at("failed"), code.at("compile_seconds")};
    }
    std::vector<std::string> hashes;
    for (const Json& p : j.at("programs")) {
      run.programs.emplace_back(p.at("program"), p.at("source_hash"));
      if (!program || run.programs.back().first != *program) continue;
      hashes.push_back(run.programs.back().second);
      run.predicted_seconds += p.value("predicted_seconds", 0.0);
      if (hashes.size() == 1) read_program(run, p);
      for (const Json& i : p.at("indices")) run.sizes[i.at("name")] = {i.at("count"), i.at("mean_extent")};
    }
    if (program && hashes.empty()) {
      std::vector<std::string> names;
      for (const auto& [name, hash] : run.programs) names.push_back(name);
      throw SialError(fmt::format("`{}` is no run of program `{}`", path, *program),
                      names.empty() ? "it names no programs" : fmt::format("it ran: {}", fmt::join(names, ", ")));
    }
    if (std::all_of(hashes.begin(), hashes.end(), [&](const std::string& h) { return h == hashes.front(); }) &&
        !hashes.empty())
      run.source_hash = hashes.front();
    read_tables(run, j, program);
    return run;
  } catch (const Json::exception& e) {
    throw SialError(fmt::format("`{}` is not a statistics file: {}", path, e.what()),
                    "give the run.json that sialrun wrote");
  }
}

}  // namespace

double Run::counter(const std::string& name, double otherwise) const {
  for (const CounterLine& c : totals)
    if (c.name == name) return c.value;
  return otherwise;
}

std::optional<DeviceSeconds> Run::device_seconds() const {
  if (counter("device_timed") == 0) return {};
  return DeviceSeconds{counter("device_kernel_time"), counter("device_in_time"),      counter("device_out_time"),
                       counter("device_copy_time"),   counter("device_overlap_time"), counter("device_wait_time")};
}

std::optional<TierBytes> Run::tier_movement() const {
  const TierBytes measured{counter("tier_bytes_written"), counter("tier_bytes_read")};
  return measured.sum() > 0 ? std::optional(measured) : std::nullopt;
}

std::string Run::option(const std::string& name) const {
  for (const auto& [key, value] : options)
    if (key == name) return value;
  return {};
}

Run read_run(const std::string& path, const std::string& program) { return read(path, &program); }
Run read_run(const std::string& path) { return read(path, nullptr); }

}  // namespace sial::report
