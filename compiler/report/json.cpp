#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "compiler/report/model.h"
#include "runtime/base/error.h"

namespace sial::report {
namespace {

using Json = nlohmann::ordered_json;

template <class Rows, class Make>
Json list(const Rows& rows, Make make) {
  Json out = Json::array();
  for (const auto& row : rows) out.push_back(make(row));
  return out;
}

Json run_json(const Run& run) {
  Json totals = Json::object();
  for (const CounterLine& c : run.totals) totals[c.name] = c.value;
  return {{"ranks", run.ranks},
          {"hit_ratio", run.hit_ratio},
          {"total", std::move(totals)},
          {"lines", list(run.lines, [](const CostLine& l) {
             return Json{{"place", l.place}, {"executions", l.executions}, {"seconds", l.seconds}};
           })},
          {"remote_accesses", list(run.accesses, [](const AccessLine& a) {
             return Json{{"place", a.place}, {"array", a.array}, {"accesses", a.accesses}, {"blocked", a.blocked}, {"bytes", a.bytes},
                         {"wait_seconds", a.wait_seconds}};
           })}};
}

std::string place(const Json& row) { return fmt::format("{}:{}", row.at("file").get<std::string>(), row.at("line").get<int>()); }

}  // namespace

std::string to_json(const Report& r) {
  Json j{{"program", r.program}, {"producer", r.producer}, {"source_hash", r.source_hash}, {"optimisation", r.optimisation}, {"files", r.files},
         {"instructions", r.instructions}, {"procedures", r.procedures}};
  j["expected"] = Json{{"ints", r.expected_ints}, {"scalars", r.expected_scalars}, {"arrays", r.expected_arrays}};
  j["indices"] = list(r.indices, [](const IndexLine& i) {
    return Json{{"name", i.name}, {"kind", i.kind}, {"range", i.range}, {"segments", i.segments}};
  });
  j["arrays"] = list(r.arrays, [](const ArrayLine& a) {
    const Uses& u = a.uses;
    return Json{{"name", a.name}, {"kind", a.kind}, {"dims", a.dims}, {"rank", a.rank}, {"blocks", a.blocks}, {"predefined", a.predefined},
                {"sparse", a.sparse},
                {"uses", {{"read", u.read}, {"written", u.written}, {"updated", u.updated}, {"get", u.fetched}, {"put", u.put},
                          {"accumulated", u.accumulated}, {"whole", u.whole}}}};
  });
  j["loops"] = list(r.loops, [](const LoopLine& l) {
    return Json{{"place", l.place}, {"procedure", l.part}, {"kind", l.kind}, {"indices", l.indices}, {"iterations", l.trips}, {"depth", l.depth},
                {"wheres", l.wheres}, {"pragma", l.pragma}, {"instructions", l.instructions}, {"rank_dependent", l.rank_dependent}};
  });
  j["instruction_mix"] = list(r.mix, [](const MixLine& m) { return Json{{"name", m.name}, {"count", m.count}}; });
  j["super_instructions"] = list(r.specials, [](const SpecialLine& s) {
    return Json{{"name", s.name}, {"signature", s.signature}, {"calls", s.calls}};
  });
  if (r.run) j["run"] = run_json(*r.run);
  return j.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Run read_run(const std::string& path, const std::string& program) {
  std::ifstream in(path);
  if (!in) throw WorldError(fmt::format("cannot open statistics file `{}`: {}", path, std::strerror(errno)));
  std::ostringstream text;
  text << in.rdbuf();
  if (text.str().empty()) throw WorldError(fmt::format("cannot read statistics file `{}`: it is empty or a directory", path));
  try {
    const Json j = Json::parse(text.str());
    Run run;
    run.ranks = j.at("ranks").get<int>();
    run.hit_ratio = j.at("hit_ratio").get<double>();
    for (const auto& [name, value] : j.at("total").items()) run.totals.push_back({name, value.get<double>()});
    for (const Json& l : j.at("lines"))
      if (l.at("program") == program) run.lines.push_back({place(l), l.at("executions").get<std::int64_t>(), l.at("seconds").get<double>()});
    for (const Json& a : j.at("remote_accesses"))
      if (a.at("program") == program)
        run.accesses.push_back({place(a), a.at("array").get<std::string>(), a.at("accesses").get<std::int64_t>(), a.at("blocked").get<std::int64_t>(),
                                a.at("bytes").get<std::int64_t>(), a.at("wait_seconds").get<double>()});
    std::stable_sort(run.lines.begin(), run.lines.end(), [](const CostLine& a, const CostLine& b) { return a.seconds > b.seconds; });
    std::stable_sort(run.accesses.begin(), run.accesses.end(),
                     [](const AccessLine& a, const AccessLine& b) { return a.wait_seconds > b.wait_seconds; });
    return run;
  } catch (const nlohmann::json::exception& e) {
    throw SialError(fmt::format("`{}` is not a statistics file: {}", path, e.what()), "give the run.json that sialrun wrote");
  }
}

}  // namespace sial::report
