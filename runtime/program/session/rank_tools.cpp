#include "runtime/program/session/rank_tools.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <ostream>
#include <span>
#include <thread>

#include <fmt/format.h>

#include "runtime/core/base/check.h"
#include "runtime/core/base/error_text.h"
#include "runtime/core/base/printable.h"
#include "runtime/core/kernels/contraction/contraction_calibration.h"

namespace sial {

void RankTools::start() {
  queue = make_work_queue(transport);
  store = make_block_store(transport, queue.get(), options.store);
  if (transport.is_server()) return;
  KernelOptions kernel_options = options.kernel_options;
  const int ranks_here = static_cast<int>(transport.ranks_of_node(transport.node()).size());
  if (const int share = kernel_options.threads > 1 ? std::max(1, static_cast<int>(std::thread::hardware_concurrency()) /
                                                                     std::max(1, ranks_here))
                                                   : 1;
      kernel_options.threads > share) {
    if (is_first())
      err << fmt::format(
          "warning: {} threads for each of {} rank{} are more than this machine has processors; using {}\n  hint: `--threads {}`, or fewer ranks per machine\n",
          kernel_options.threads, ranks_here, ranks_here == 1 ? "" : "s", share, share);
    kernel_options.threads = share;
  }
  kernel_options.costs = costs_of_all();
  reserve_blas_memory();
  block_kernels = make_kernels(options.kernels, store->buffers(), kernel_options);
  make_device_of_rank();
}

/// Rank 0's constants of contractions, on all ranks: the measured ones, or those for its caches.
std::shared_ptr<const kernels::ContractionCosts> RankTools::costs_of_all() {
  const auto& measured = options.kernel_options.costs;
  kernels::ContractionCosts costs = measured ? *measured : kernels::usual_costs(kernels::builtin_target().shape.width);
  if (transport.size() > 1)
    transport.broadcast(std::as_writable_bytes(std::span(&costs, 1)), 0, tag(CollectiveKind::other));
  return std::make_shared<kernels::ContractionCosts>(costs);
}

/// Where nobody asked for a device, one that does not start is no reason to stop.
void RankTools::make_device_of_rank() {
  DeviceOptions device_options = options.device_options;
  device_options.seed += static_cast<std::uint64_t>(transport.rank());
  device_options.code_cache = options.kernel_options.jit_cache;
  const std::vector<int>& here = transport.ranks_of_node(transport.node());
  device_options.ranks_here = static_cast<int>(here.size());
  device_options.rank_here = static_cast<int>(std::find(here.begin(), here.end(), transport.rank()) - here.begin());
  try {
    device = make_device(options.device, *block_kernels, device_options);
  } catch (const EnvironmentError& error) {
    if (options.device != "auto") throw;
    err << fmt::format(
               "warning: {}{}; block operations run on the host\n  hint: {}\n", printable_name(error.what()),
               transport.size() > 1 ? fmt::format(" (on rank {} of {})", transport.rank(), transport.size()) : "",
               error.hint())
        << std::flush;
  }
  if (!device) return;
  options.facts.emplace_back("device", std::string(device->name()));
  if (device_options.batch != auto_device_batch)
    options.facts.emplace_back("device_batch", device_options.batch > 0 ? std::to_string(device_options.batch) : "off");
  choose_device_messages();
}

void RankTools::choose_device_messages() {
  const bool can = device->host_reads() || transport.reads_device_memory();
  if (options.device_messages == DeviceMessages::direct && !can)
    throw EnvironmentError(
        "`--device-messages direct`: this MPI does not report that it sends from the memory of a GPU (MPIX_Query_cuda_support)",
        "leave it at `auto`, say `staged`, or run with an MPI that was built for it");
  device_messages_direct = can && options.device_messages != DeviceMessages::staged;
  if (transport.node_count() > 1)
    options.facts.emplace_back("device_messages", device_messages_direct ? "direct" : "staged");
  if (device_messages_direct && !device->host_reads())
    transport.prepare_helper([device = device.get()] { device->enter(); });
}

std::int64_t RankTools::min_block() const {
  if (options.device_from >= 0) return options.device_from;
  return options.device == "auto" ? auto_device_from : 0;
}

bool RankTools::has_memory_for(std::int64_t bytes) {
  if (options.servers > 0) return false;  // which have memories of their own
  if (!options.store.spill.empty()) return true;
  PhasePeak most;
  for (const PhasePeak& peak : store->monitor().phase_peaks()) {
    most.own = std::max(most.own, peak.own);
    most.shared = std::max(most.shared, peak.shared);
  }
  const std::int64_t mine = most.own + most.shared;
  double all = static_cast<double>(bytes);
  for (const auto& theirs : transport.all_gather(std::as_bytes(std::span(&mine, 1)), tag(CollectiveKind::gather))) {
    std::int64_t peak = 0;
    SIAL_CHECK(theirs.size() == sizeof peak, "{} bytes of a peak", theirs.size());
    std::memcpy(&peak, theirs.data(), sizeof peak);
    all += static_cast<double>(peak);
  }
  return all < 0.9 * static_cast<double>(options.store.memory_per_rank) * transport.size();
}

int RankTools::share(int code, std::string& text) {
  transport.broadcast(std::as_writable_bytes(std::span(&code, 1)), 0, tag(CollectiveKind::other));
  transport.broadcast_text(text, 0, tag(CollectiveKind::other));
  return code;
}

int RankTools::on_first(const std::function<void()>& work, std::string& text) {
  int code = exit_ok;
  if (is_first()) {
    try {
      work();
    } catch (const SialError& error) {
      err << error_text(error, 0, 1) << std::endl;
      code = exit_code_of(error);
    }
  }
  return share(code, text);
}

}  // namespace sial
