// The report as JSON; compiler/report/report.schema.json describes it.

#include <fmt/format.h>

#include "compiler/report/formats/advice_print.h"
#include "compiler/report/writer.h"
#include "runtime/core/base/json.h"

namespace sial::report {
namespace {

template <class Rows, class Make>
Json list(const Rows& rows, Make make) {
  Json out = Json::array();
  for (const auto& row : rows) out.push_back(make(row));
  return out;
}

Json object(const Run::Pairs& pairs) {
  Json o = Json::object();
  for (const auto& [key, value] : pairs) o[key] = value;
  return o;
}

Json counters(const std::vector<CounterLine>& rows) {
  Json o = Json::object();
  for (const CounterLine& c : rows) o[c.name] = c.value;
  return o;
}

Json amount(const Amount& a) {
  if (a.text.empty()) return nullptr;
  return {{"symbolic", a.text}, {"value", a.value ? Json(*a.value) : Json()}};
}

Json device_times(const std::optional<DeviceSeconds>& t) {
  if (!t) return nullptr;
  return {{"kernel_seconds", t->kernels},
          {"in_seconds", t->in},
          {"out_seconds", t->out},
          {"copy_seconds", t->copies},
          {"overlapped_seconds", t->overlapped},
          {"overlap", t->overlap() ? Json(*t->overlap()) : Json()},
          {"waited_seconds", t->waited}};
}

Json tier_movement(const Run& run) {
  const auto bytes = [](const TierBytes& b) { return Json{{"bytes_written", b.written}, {"bytes_read", b.read}}; };
  const std::optional<TierBytes> measured = run.tier_movement();
  if (!measured) return nullptr;
  const std::optional<TierPrediction>& p = run.predicted_tiers;
  return {{"measured", bytes(*measured)},
          {"predicted", p ? bytes(p->moved) : Json()},
          {"offline_optimum", p ? bytes(p->optimum) : Json()}};
}

Json run_json(const Run& run) {
  const Breakdown parts = breakdown_of(run);
  const Prefetches p = prefetches_of(run);
  Json breakdown = Json::array();
  for (const RankTimes& t : parts.ranks) {
    Json row{{"wall", t.wall}};
    for (std::size_t i = 0; i < std::size(breakdown_names); ++i) row[breakdown_names[i]] = t.part[i];
    breakdown.push_back(std::move(row));
  }
  return {{"version", run.version},
          {"ranks", run.ranks},
          {"nodes", run.nodes},
          {"servers", run.servers},
          {"options", object(run.options)},
          {"machine", object(run.machine)},
          {"hit_ratio", run.hit_ratio},
          {"breakdown", std::move(breakdown)},
          {"handler_seconds", parts.handler},
          {"load_imbalance", parts.imbalance},
          {"prefetches", {{"issued", p.issued}, {"useful", p.useful}, {"late", p.late}, {"useless", p.useless}}},
          {"total", counters(run.totals)},
          {"lines", list(run.lines,
                         [](const CostLine& l) {
                           return Json{{"file", l.file},
                                       {"line", l.line},
                                       {"executions", l.executions},
                                       {"seconds", l.seconds},
                                       {"compute_seconds", l.compute_seconds},
                                       {"slowest_rank_seconds", l.slowest_seconds},
                                       {"flops", l.flops}};
                         })},
          {"arrays", list(traffic_of(run),
                          [](const Traffic& t) {
                            return Json{{"array", t.array},
                                        {"bytes_moved", t.moved},
                                        {"bytes_in_place", t.in_place},
                                        {"bytes_used", t.used},
                                        {"bytes_on_other_memory_nodes", t.on_other_nodes},
                                        {"accesses", t.accesses}};
                          })},
          {"remote_accesses", list(run.accesses,
                                   [](const AccessLine& a) {
                                     return Json{
                                         {"file", a.file},
                                         {"line", a.line},
                                         {"array", a.array},
                                         {"accesses", a.accesses},
                                         {"blocked", a.blocked},
                                         {"hit_ratio", a.hit_ratio()},
                                         {"bytes", a.bytes},
                                         {"bytes_moved", a.moved},
                                         {"bytes_in_place", a.in_place},
                                         {"first_wait_seconds", a.first_wait_seconds},
                                         {"mean_wait_seconds",
                                          a.accesses > 0 ? a.wait_seconds / static_cast<double>(a.accesses) : 0.0},
                                         {"wait_seconds", a.wait_seconds}};
                                   })},
          {"block_copies", list(run.copies,
                                [](const CopyLine& c) {
                                  return Json{{"file", c.file},
                                              {"line", c.line},
                                              {"array", c.array},
                                              {"copied", c.copied},
                                              {"bytes_copied", c.bytes_copied},
                                              {"elided", c.elided},
                                              {"bytes_elided", c.bytes_elided}};
                                })},
          {"device_transfers", list(run.transfers,
                                    [](const TransferLine& t) {
                                      Json row{{"file", t.file}, {"line", t.line}, {"array", t.array}};
                                      const auto count = [&](const std::string& name, const TransferLine::Count& c) {
                                        row[name] = c.transfers;
                                        row["bytes_" + name] = c.bytes;
                                      };
                                      count("in", t.in);
                                      count("out", t.out);
                                      count("in_unoptimized", t.in_unoptimized);
                                      count("out_unoptimized", t.out_unoptimized);
                                      count("in_lower_bound", t.in_lower_bound);
                                      count("out_lower_bound", t.out_lower_bound);
                                      return row;
                                    })},
          {"device_times", device_times(run.device_seconds())},
          {"tiers", tier_movement(run)},
          {"kernels",
           list(run.kernels,
                [](const KernelLine& k) {
                  return Json{
                      {"file", k.file},
                      {"line", k.line},
                      {"strategy", k.method},
                      {"calls", k.calls},
                      {"seconds", k.seconds},
                      {"flops", k.flops},
                      {"bytes", k.bytes},
                      {"gflop_per_second", k.flops > 0 && k.seconds > 0 ? Json(k.flops / k.seconds * 1e-9) : Json()},
                      {"why", k.why},
                      {"words", kernel_text(k)},
                      {"slow", k.slow},
                      {"advice", k.advice}};
                })},
          {"generated_code", run.code ? Json{{"state", run.code->state},
                                             {"asked", run.code->asked},
                                             {"compiled", run.code->compiled},
                                             {"from_disk", run.code->from_disk},
                                             {"failed", run.code->failed},
                                             {"compile_seconds", run.code->compile_seconds}}
                                      : Json()}};
}

}  // namespace

std::string to_json(const Report& r) {
  const auto file = [&](int f) { return r.files[static_cast<std::size_t>(f)]; };
  Json j{{"format", 4},
         {"program", r.program},
         {"producer", r.producer},
         {"source_hash", r.source_hash},
         {"optimisation", r.optimisation},
         {"files", r.files},
         {"instructions", r.instructions},
         {"procedures", r.procedures}};
  j["expected"] = Json{{"ints", r.expected_ints}, {"scalars", r.expected_scalars}, {"arrays", r.expected_arrays}};
  j["indices"] = list(r.indices, [&](const IndexLine& i) {
    Json row{{"name", i.name}, {"kind", i.kind}, {"range", i.range}, {"segments", i.segments}};
    if (r.run)
      if (const auto size = r.run->sizes.find(i.name); size != r.run->sizes.end())
        row["bound"] = {{"count", size->second.count}, {"mean_extent", size->second.extent}};
    return row;
  });
  j["arrays"] = list(r.arrays, [](const ArrayLine& a) {
    const Uses& u = a.uses;
    return Json{{"name", a.name},
                {"kind", a.kind},
                {"dims", a.dims},
                {"rank", a.rank},
                {"blocks", a.blocks},
                {"predefined", a.predefined},
                {"sparse", a.sparse},
                {"uses",
                 {{"read", u.read},
                  {"written", u.written},
                  {"updated", u.updated},
                  {"get", u.fetched},
                  {"put", u.put},
                  {"accumulated", u.accumulated},
                  {"whole", u.whole}}}};
  });
  j["loops"] = list(r.loops, [](const LoopLine& l) {
    return Json{{"place", l.place},
                {"procedure", l.part},
                {"kind", l.kind},
                {"indices", l.indices},
                {"iterations", l.trips},
                {"depth", l.depth},
                {"wheres", l.wheres},
                {"pragma", l.pragma},
                {"instructions", l.instructions},
                {"rank_dependent", l.rank_dependent}};
  });
  j["instruction_mix"] = list(r.mix, [](const MixLine& m) { return Json{{"name", m.name}, {"count", m.count}}; });
  j["super_instructions"] = list(r.specials, [](const SpecialLine& s) {
    return Json{{"name", s.name}, {"signature", s.signature}, {"calls", s.calls}};
  });
  j["remarks"] = list(r.remarks, [&](const RemarkLine& m) {
    return Json{{"kind", kind_text(m.kind)},
                {"pass", m.pass},
                {"name", m.name},
                {"file", file(m.place.file)},
                {"line", m.place.line},
                {"column", m.place.column},
                {"procedure", m.part},
                {"array", m.array},
                {"text", m.text},
                {"advice", m.advice},
                {"bytes", amount(m.bytes)},
                {"flops", amount(m.flops)},
                {"executions", amount(m.executions)},
                {"total_bytes", amount(m.all_bytes)},
                {"total_flops", amount(m.all_flops)},
                {"seconds", m.seconds ? Json(*m.seconds) : Json()}};
  });
  j["lines"] = list(r.lines, [&](const SourceLine& l) {
    Json deeds = Json::object();
    for (const Deeds& d : l.deeds) deeds[deed_text(d.deed)] = d.arrays;
    return Json{{"file", file(l.file)},
                {"line", l.line},
                {"does", std::move(deeds)},
                {"loop", l.loop},
                {"iterations", l.trips},
                {"at_most", l.at_most},
                {"executions", amount(l.executions)},
                {"bytes_fetched", amount(l.get_bytes)},
                {"bytes_put", amount(l.put_bytes)},
                {"flops", amount(l.flops)},
                {"remarks", l.remarks}};
  });
  j["sources"] = list(r.sources, [](const SourceFile& s) {
    return Json{{"name", s.name},
                {"found", s.found},
                {"changed", s.changed},
                {"problem", s.problem},
                {"lines", s.changed ? std::vector<std::string>() : s.lines},
                {"origins", s.changed ? std::vector<std::string>() : s.origins}};
  });
  if (r.run) j["run"] = run_json(*r.run);
  if (r.job) j["job"] = advice_json(*r.job);
  return json_text(j) + "\n";
}

}  // namespace sial::report
