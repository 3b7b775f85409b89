#include "runtime/core/model/machine_speed.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "runtime/core/base/bytes.h"
#include "runtime/core/base/error.h"
#include "runtime/core/base/input_file.h"
#include "runtime/core/base/json.h"
#include "runtime/core/base/output_file.h"
#include "runtime/core/kernels/contraction/contraction_calibration.h"
#include "runtime/core/kernels/interface/block_op.h"
#include "runtime/core/memory/host_pool.h"

namespace sial {
namespace {

constexpr int format_version = 2;
constexpr double largest_rate = 1e15;

/// Fields that are measured, by their names in the file.
constexpr std::pair<const char*, double MachineSpeed::*> fields[] = {{"cycles", &MachineSpeed::cycles},
                                                                     {"l2_rate", &MachineSpeed::l2_rate},
                                                                     {"l3_rate", &MachineSpeed::l3_rate},
                                                                     {"memory_rate", &MachineSpeed::memory_rate}};

/// The least time of many calls within `seconds`.
template <class F>
double min_time(double seconds, F f) {
  using Clock = std::chrono::steady_clock;
  const auto now = [] { return Clock::now(); };
  const auto since = [&](Clock::time_point start) { return std::chrono::duration<double>(now() - start).count(); };
  const auto begin = now();
  double least = 1e30;
  for (int n = 0; n < 3 || since(begin) < seconds; ++n) {
    const auto start = now();
    f();
    least = std::min(least, since(start));
  }
  return std::max(least, 1e-9);
}

double measured_cycles() {
  KernelOptions options;
  options.jit = false;  // what is built in does not depend on what was generated before
  reserve_blas_memory();
  const auto pool = make_host_pool();
  const auto kernels = make_kernels("auto", *pool, options);
  constexpr std::int64_t n = 192;
  std::vector<double> a(n * n, 1.0), b(n * n, 0.5), d(n * n);
  const Shape shape = [] {
    Shape s;
    s.rank = 2;
    s.extent[0] = s.extent[1] = n;
    return s;
  }();
  BlockOp op;
  op.d = dense_view(d.data(), shape, {1, 2});
  op.a = as_const(dense_view(a.data(), shape, {1, 3}));
  op.b = as_const(dense_view(b.data(), shape, {3, 2}));
  op.has_b = true;
  return kernels->cycles(op) / min_time(0.4, [&] { kernels->run(op); });
}

/// Bytes per second of reading the same buffer again and again.
double measured_rate(double bytes) {
  std::vector<double> buffer(static_cast<std::size_t>(bytes / sizeof(double)), 1.0);
  volatile double sink = 0.0;
  const double seconds = min_time(0.4, [&] {
    double sums[8] = {};
    for (std::size_t i = 0; i + 8 <= buffer.size(); i += 8)
      for (std::size_t k = 0; k < 8; ++k) sums[k] += buffer[i + k];
    sink = sums[0] + sums[1] + sums[2] + sums[3] + sums[4] + sums[5] + sums[6] + sums[7];
  });
  static_cast<void>(sink);
  return static_cast<double>(buffer.size() * sizeof(double)) / seconds;
}

Json json_of(const kernels::ContractionCosts& costs) {
  Json json{{"width", costs.width}};
  for (const kernels::CostField& field : kernels::cost_fields())
    if (field.kind == kernels::CostKind::fitted) json[field.name] = costs.*field.value;
  return json;
}

/// Nothing where a value is missing or cannot be. What is not fitted is as usual on this machine.
std::optional<kernels::ContractionCosts> costs_of(const Json& json) {
  if (!json.is_object()) return {};
  const auto width = json.find("width");
  if (width == json.end() || !width->is_number_integer() || *width < 1 || *width > 8) return {};
  kernels::ContractionCosts costs = kernels::usual_costs(width->get<int>());
  for (const kernels::CostField& field : kernels::cost_fields()) {
    if (field.kind != kernels::CostKind::fitted) continue;
    const auto found = json.find(field.name);
    if (found == json.end() || !found->is_number()) return {};
    costs.*field.value = found->get<double>();
  }
  if (!kernels::plausible(costs)) return {};
  return costs;
}

}  // namespace

MachineSpeed usual_speed() {
  MachineSpeed speed;
  if (const long l2 = sysconf(_SC_LEVEL2_CACHE_SIZE); l2 > 0) speed.l2_bytes = static_cast<double>(l2);
  speed.l3_bytes = static_cast<double>(kernels::last_level_cache_bytes());
  return speed;
}

MachineSpeed measure_speed() {
  MachineSpeed speed = usual_speed();
  speed.cycles = measured_cycles();
  speed.l2_rate = measured_rate(speed.l2_bytes / 2);
  speed.l3_rate = std::min(speed.l2_rate, measured_rate(std::max(2 * speed.l2_bytes, speed.l3_bytes / 2)));
  speed.memory_rate = std::min(speed.l3_rate, measured_rate(std::max(256e6, 8 * speed.l3_bytes)));
  return speed;
}

MeasuredCosts measure_costs() {
  const auto pool = make_host_pool();
  const kernels::ContractionTarget target = kernels::builtin_target();
  const kernels::ContractionCosts usual = kernels::usual_costs(target.shape.width);
  const auto measured = kernels::measure_contractions(*pool, kernels::seconds_of_a_plan);
  const kernels::ContractionCosts fitted = kernels::fit_costs(measured, target, usual);
  return {fitted, kernels::regret_of(measured, target, usual), kernels::regret_of(measured, target, fitted),
          measured.size()};
}

std::string speed_file(const std::string& folder) {
  return folder.empty() ? std::string() : (std::filesystem::path(folder) / "speed.json").string();
}

std::optional<MachineSpeed> saved_speed(const std::string& folder) {
  if (folder.empty()) return {};
  std::string problem;
  const std::string text = read_file(speed_file(folder), input_limit::job_file, problem);
  if (!problem.empty()) return {};
  const auto json = parse_json(text, false);
  if (!json.is_object() || json.value("format", "") != "sialx speed" || json.value("version", 0) != format_version ||
      json.value("processor", "") != describe_processor())
    return {};
  MachineSpeed speed = usual_speed();
  for (const auto& [name, field] : fields) {
    const auto found = json.find(name);
    if (found == json.end() || !found->is_number()) return {};
    speed.*field = found->get<double>();
    if (!(speed.*field > 1.0 && speed.*field < largest_rate)) return {};
  }
  if (const auto found = json.find("contractions"); found != json.end()) {
    speed.costs = costs_of(*found);
    if (!speed.costs) return {};
  }
  return speed;
}

void save_speed(const std::string& folder, const MachineSpeed& speed) {
  Json json{{"format", "sialx speed"}, {"version", format_version}, {"processor", describe_processor()}};
  for (const auto& [name, field] : fields) json[name] = speed.*field;
  if (speed.costs) json["contractions"] = json_of(*speed.costs);
  std::error_code failure;
  std::filesystem::create_directories(folder, failure);
  write_file(speed_file(folder), json_text(json, 1, Json::error_handler_t::strict) + "\n", Durability::until_crash,
             "give another folder with XDG_CACHE_HOME");
}

MachineSpeed speed_of_this_machine(const std::string& folder) { return saved_speed(folder).value_or(usual_speed()); }

std::string speed_text(const MachineSpeed& speed) {
  const auto rate = [](double bytes) { return bytes_text(static_cast<std::int64_t>(bytes)) + "/s"; };
  return fmt::format("{:.2f} G model cycles/s, second-level cache {}, last-level cache {}, memory {}",
                     speed.cycles * 1e-9, rate(speed.l2_rate), rate(speed.l3_rate), rate(speed.memory_rate));
}

std::string costs_text(const MachineSpeed& speed) {
  if (!speed.costs) return "usual values";
  const std::string changed = kernels::costs_text(*speed.costs);
  return changed.empty() ? "measured, as usual" : "measured, " + changed;
}

}  // namespace sial
