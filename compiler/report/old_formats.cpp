#include "compiler/report/old_formats.h"

#include "runtime/core/base/json.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

namespace sial::report {
namespace {

struct Renamed {
  std::string_view old_name, name;
};

/// Counters, keys of `total` and of each rank.
constexpr std::array<Renamed, 23> counter_names{{
    {"device_in_as_written", "device_in_unoptimized"},
    {"device_bytes_in_as_written", "device_bytes_in_unoptimized"},
    {"device_out_as_written", "device_out_unoptimized"},
    {"device_bytes_out_as_written", "device_bytes_out_unoptimized"},
    {"device_in_least", "device_in_lower_bound"},
    {"device_bytes_in_least", "device_bytes_in_lower_bound"},
    {"device_out_least", "device_out_lower_bound"},
    {"device_bytes_out_least", "device_bytes_out_lower_bound"},
    {"device_sent_straight", "device_sent_direct"},
    {"device_bytes_sent_straight", "device_bytes_sent_direct"},
    {"device_sent_in_pieces", "device_sent_pipelined"},
    {"device_bytes_sent_in_pieces", "device_bytes_sent_pipelined"},
    {"device_received_straight", "device_received_direct"},
    {"device_bytes_received_straight", "device_bytes_received_direct"},
    {"device_received_in_pieces", "device_received_pipelined"},
    {"device_bytes_received_in_pieces", "device_bytes_received_pipelined"},
    {"device_late_puts", "device_deferred_puts"},
    {"device_late_puts_awaited", "device_deferred_puts_awaited"},
    {"device_ahead", "device_prefetches"},
    {"device_bytes_ahead", "device_bytes_prefetched"},
    {"device_ahead_used", "device_prefetches_used"},
    {"device_bytes_ahead_used", "device_bytes_prefetched_used"},
    {"near_ahead", "cache_prefetches"},
}};

/// Names in a row of `device_transfers`.
constexpr std::array<Renamed, 8> transfer_names{{
    {"in_as_written", "in_unoptimized"},
    {"bytes_in_as_written", "bytes_in_unoptimized"},
    {"out_as_written", "out_unoptimized"},
    {"bytes_out_as_written", "bytes_out_unoptimized"},
    {"in_least", "in_lower_bound"},
    {"bytes_in_least", "bytes_in_lower_bound"},
    {"out_least", "out_lower_bound"},
    {"bytes_out_least", "bytes_out_lower_bound"},
}};

constexpr std::array<Renamed, 1> kernel_names{{{"way", "strategy"}}};

template <std::size_t n>
void rename(Json& object, const std::array<Renamed, n>& names) {
  if (!object.is_object()) return;
  Json renamed = Json::object();
  for (auto& [key, value] : object.items()) {
    const auto row = std::find_if(names.begin(), names.end(), [&](const Renamed& r) { return r.old_name == key; });
    renamed[row == names.end() ? key : std::string(row->name)] = std::move(value);
  }
  object = std::move(renamed);
}

}  // namespace

void use_present_names(Json& run, int format) {
  if (format >= present_format || !run.is_object()) return;
  if (run.contains("total")) rename(run["total"], counter_names);
  if (run.contains("per_rank"))
    for (Json& rank : run["per_rank"]) rename(rank, counter_names);
  if (run.contains("device_transfers"))
    for (Json& row : run["device_transfers"]) rename(row, transfer_names);
  if (run.contains("kernels") && run["kernels"].contains("choices"))
    for (Json& row : run["kernels"]["choices"]) rename(row, kernel_names);
}

}  // namespace sial::report
