// Predictions as text and JSON.

#include <fmt/format.h>

#include "compiler/report/prediction/predict.h"
#include "compiler/report/writer.h"
#include "runtime/core/base/json.h"

namespace sial::report {
namespace {

constexpr std::size_t parts_listed = 12;

/// The error of the prediction, as a fraction of the measured value; nothing measured: none.
std::optional<double> error_of(double predicted, double measured) {
  if (measured <= 0) return {};
  return predicted / measured - 1;
}

std::string percent(std::optional<double> error) { return error ? fmt::format("{:+.1f} %", 100 * *error) : "-"; }

/// Where an error is little of the whole, it says little: as part of the total as well.
struct Row {
  const char* name;
  double Times::* part;
};
constexpr Row rows[] = {
    {"work", &Times::work}, {"fetch wait", &Times::wait}, {"synchronization", &Times::synchronization}};

class PredictionText : Writer {
 public:
  std::string text(const Prediction& p, const Run& run, const std::optional<Run>& real) {
    const Target& t = p.target;
    const std::string ahead = t.look_ahead == Target::automatic ? "auto"
                              : t.look_ahead == 0               ? "off"
                                                                : std::to_string(t.look_ahead);
    line("prediction for {} on {}{}, latency {}, bandwidth {}/s, look-ahead {}", plural(t.ranks, "rank"),
         plural(t.nodes(), "node"), t.servers > 0 ? " and " + plural(t.servers, "server") : "",
         seconds_number(t.latency), bytes_number(t.bandwidth), ahead);
    line("from {}: {} on {}, {} a rank in this program", run.path, plural(run.ranks, "rank"), plural(run.nodes, "node"),
         seconds_number(p.from.total()));
    if (real)
      line("beside {}: {}, {} a rank", real->path, plural(real->ranks, "rank"),
           seconds_number(p.measured->times.total()));
    times(p);
    memory(p);
    line("\nbetween nodes, all ranks\n  {} in {:.0f} fetches{}", bytes_number(p.bytes), p.fetches,
         p.measured ? fmt::format("; measured {}, off by {}", bytes_number(p.measured->bytes),
                                  percent(error_of(p.bytes, p.measured->bytes)))
                    : "");
    parts(p);
    return take();
  }

 private:
  void times(const Prediction& p) {
    line("\ntime of a mean rank\n  {:<17}{:>12}{:>12}{:>12}{:>10}{:>14}", "", "from", "predicted",
         p.measured ? "measured" : "", p.measured ? "error" : "", p.measured ? "of the total" : "");
    const double all = p.measured ? p.measured->times.total() : 0;
    for (const Row& row : rows) {
      const double predicted = p.times.*row.part;
      if (!p.measured)
        line("  {:<17}{:>12}{:>12}", row.name, seconds_number(p.from.*row.part), seconds_number(predicted));
      else
        line("  {:<17}{:>12}{:>12}{:>12}{:>10}{:>14}", row.name, seconds_number(p.from.*row.part),
             seconds_number(predicted), seconds_number(p.measured->times.*row.part),
             percent(error_of(predicted, p.measured->times.*row.part)),
             all > 0 ? fmt::format("{:+.1f} %", 100 * (predicted - p.measured->times.*row.part) / all) : "-");
    }
    if (!p.measured)
      line("  {:<17}{:>12}{:>12}", "total", seconds_number(p.from.total()), seconds_number(p.times.total()));
    else
      line("  {:<17}{:>12}{:>12}{:>12}{:>10}", "total", seconds_number(p.from.total()), seconds_number(p.times.total()),
           seconds_number(all), percent(error_of(p.times.total(), all)));
  }

  void memory(const Prediction& p) {
    if (!p.memory) {
      line("\nmemory is not known: {}", p.no_memory);
      return;
    }
    line("\nmemory of a rank\n  {}{}{}", bytes_number(p.memory->peak),
         p.memory->least < p.memory->peak
             ? fmt::format(", {} of it needed, the rest copies kept while there is room", bytes_number(p.memory->least))
             : "",
         p.memory->exact ? "" : " (an upper bound: the program has too many iterations to follow one by one)");
    if (p.measured && p.measured->memory)
      line("  measured {}, off by {}", bytes_number(*p.measured->memory),
           percent(error_of(p.memory->peak, *p.measured->memory)));
    else if (p.measured) line("  not measured: the run went on from a checkpoint");
  }

  void parts(const Prediction& p) {
    line("\ndearest parts, time of a mean rank\n  {:<34}{:>10}{:>11}{:>11}{:>11}{:>11}{:>11}{:>9}", "", "instances",
         "iterations", "work", "fetch wait", "idle", p.measured ? "measured" : "", p.measured ? "error" : "");
    for (std::size_t i = 0; i < std::min(p.parts.size(), parts_listed); ++i) {
      const PredictedPart& part = p.parts[i];
      std::string name = part.place.empty() ? "outside of these"
                                            : part.place.substr(part.place.find_last_of('/') + 1) + " " + part.kind +
                                                  " " + part.indices;
      if (name.size() > 33) name = name.substr(0, 30) + "...";
      const bool outside = part.place.empty();
      line("  {:<34}{:>10}{:>11}{:>11}{:>11}{:>11}{:>11}{:>9}", name, outside ? "" : count_number(part.instances),
           outside ? "" : count_number(part.iterations), seconds_number(part.work), seconds_number(part.wait),
           seconds_number(part.synchronization), part.measured ? seconds_number(*part.measured) : "",
           part.measured ? percent(error_of(part.work + part.wait, *part.measured)) : "");
    }
    if (p.parts.size() > parts_listed) line("  ... and {} more", p.parts.size() - parts_listed);
    if (p.measured) line("  measured and error: without idling, which lines do not tell apart");
  }
};

Json number(std::optional<double> value) { return value ? Json(*value) : Json(); }

Json times_json(const Times& t) {
  return {{"work", t.work}, {"fetch_wait", t.wait}, {"synchronization", t.synchronization}, {"total", t.total()}};
}

}  // namespace

std::string predict_text(const Prediction& prediction, const Run& run, const std::optional<Run>& real) {
  return PredictionText().text(prediction, run, real);
}

std::string predict_json(const Prediction& p, const Run& run, const std::optional<Run>& real) {
  const Target& t = p.target;
  Json j{{"format", 2}};
  j["target"] = {{"ranks", t.ranks},
                 {"ranks_per_node", t.on_a_node()},
                 {"nodes", t.nodes()},
                 {"servers", t.servers},
                 {"latency", t.latency},
                 {"bandwidth", t.bandwidth},
                 {"look_ahead", t.look_ahead == Target::automatic ? Json("auto") : Json(t.look_ahead)}};
  j["from"] = {{"file", run.path}, {"ranks", run.ranks}, {"nodes", run.nodes}, {"times", times_json(p.from)}};
  j["times"] = times_json(p.times);
  j["bytes_fetched"] = p.bytes;
  j["fetches"] = p.fetches;
  j["memory"] =
      p.memory ? Json{{"peak", p.memory->peak}, {"least", p.memory->least}, {"exact", p.memory->exact}} : Json();
  j["memory_problem"] = p.no_memory;
  j["parts"] = Json::array();
  for (const PredictedPart& part : p.parts)
    j["parts"].push_back(
        {{"place", part.place},
         {"loop", part.kind},
         {"indices", part.indices},
         {"instances", part.instances},
         {"iterations", part.iterations},
         {"work", part.work},
         {"fetch_wait", part.wait},
         {"synchronization", part.synchronization},
         {"total", part.total()},
         {"measured", number(part.measured)},
         {"error", number(part.measured ? error_of(part.work + part.wait, *part.measured) : std::nullopt)}});
  if (real) {
    const Times& m = p.measured->times;
    Json errors{{"total", number(error_of(p.times.total(), m.total()))}};
    for (const Row& row : rows)
      errors[row.part == &Times::wait ? "fetch_wait" : row.name] = number(error_of(p.times.*row.part, m.*row.part));
    errors["bytes_fetched"] = number(error_of(p.bytes, p.measured->bytes));
    errors["memory"] =
        number(p.memory && p.measured->memory ? error_of(p.memory->peak, *p.measured->memory) : std::nullopt);
    j["against"] = {{"file", real->path},
                    {"ranks", real->ranks},
                    {"times", times_json(m)},
                    {"bytes_fetched", p.measured->bytes},
                    {"memory", number(p.measured->memory)},
                    {"errors", std::move(errors)}};
  }
  return json_text(j) + "\n";
}

}  // namespace sial::report
