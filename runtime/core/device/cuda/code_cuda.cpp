#include "runtime/core/device/cuda/code.h"

#include <array>
#include <cstring>

#include <fmt/format.h>

#include "runtime/core/base/check.h"
#include "runtime/core/base/error.h"
#include "runtime/core/device/device.h"

namespace sial::cuda {
namespace {

/// A limit of saved tables: beyond it all are given up, after a wait.
constexpr std::size_t max_table_bytes = std::size_t{16} << 20;
/// The driver's errors about code itself: not an image, a version of PTX that it does not know, an unsupported compiler
/// ...
constexpr int first_of_code = 200, last_of_code = 230;

std::unique_ptr<kernels::DeviceCodeSource> source_for(const GpuDevice& gpu, const std::string& cache_folder) {
  try {
    return kernels::make_device_code_source(gpu.capability_major(), gpu.capability_minor(), cache_folder);
  } catch (const SialError& error) {
    throw EnvironmentError(
        fmt::format("{}: {}", gpu.name(), error.what()),
        error.hint().empty() ? "choose another GPU with `--devices`, or run with `--device host`" : error.hint());
  }
}

}  // namespace

DeviceCode::DeviceCode(GpuDevice& gpu, const std::string& cache_folder)
    : gpu_(gpu), source_(source_for(gpu, cache_folder)), uploads_(gpu.make_stream()) {}

DeviceCode::~DeviceCode() {
  for (const auto& [values, p] : tables_) gpu_.free(p);
  for (const auto& [key, k] : kernels_) gpu_.driver().cuModuleUnload(k.module);
  gpu_.drop_stream(uploads_);
}

Function DeviceCode::kernel(const kernels::CodeKey& key) {
  if (const auto found = kernels_.find(key); found != kernels_.end()) return found->second.function;
  const std::string name = kernels::code_name(key);
  const std::string& text = source_->ptx(key);
  std::array<char, 8192> log{};
  std::array<LoadOption, 2> options{LoadOption::error_log, LoadOption::error_log_bytes};
  std::array<void*, 2> values{log.data(), reinterpret_cast<void*>(log.size() - 1)};
  Kernel k;
  if (const Status status = gpu_.driver().cuModuleLoadDataEx(
          &k.module, text.c_str(), static_cast<unsigned>(options.size()), options.data(), values.data());
      status != Status::success) {
    if (static_cast<int>(status) < first_of_code || static_cast<int>(status) > last_of_code)
      gpu_.check(status, "loading a kernel");
    const char* what = nullptr;
    gpu_.driver().cuGetErrorName(status, &what);
    throw EnvironmentError(
        fmt::format("{}: the driver does not take the generated kernel {} for {}: {}{}{}", gpu_.name(), name,
                    source_->target(), what ? what : "unknown error", log[0] ? ": " : "", log.data()),
        "install a newer driver, or run with `--device host`");
  }
  const auto at = kernels_.emplace(key, k).first;
  gpu_.check(gpu_.driver().cuModuleGetFunction(&at->second.function, k.module, name.c_str()), "looking for a kernel");
  return at->second.function;
}

void DeviceCode::evict_tables() {
  gpu_.synchronize();  // work in streams may read them
  for (const auto& [values, p] : tables_) gpu_.free(p);
  tables_.clear();
  table_bytes_ = 0;
}

/// Uploaded in a stream of its own, and there when this returns.
Address DeviceCode::table(const std::vector<double>& values) {
  if (const auto found = tables_.find(values); found != tables_.end()) return found->second;
  const std::size_t bytes = values.size() * 8;
  const Address p = gpu_.allocate(bytes, "reserving memory for orbital energies");
  if (!p) throw DeviceFull{static_cast<std::int64_t>(bytes)};
  tables_.emplace(values, p);
  table_bytes_ += bytes;
  gpu_.check(gpu_.driver().cuMemcpyHtoDAsync_v2(p, values.data(), bytes, uploads_),
             "a copy of orbital energies to the device");
  gpu_.finish(uploads_, "a copy of orbital energies to the device");
  return p;
}

void DeviceCode::launch(Stream stream, std::span<kernels::DeviceLaunch> launches) {
  if (table_bytes_ > max_table_bytes) evict_tables();
  for (kernels::DeviceLaunch& l : launches) {
    if (l.table.empty()) continue;
    const Address p = table(l.table);
    SIAL_CHECK(l.table_at + sizeof p <= l.arguments.size(), "a kernel's table has no place in its arguments");
    std::memcpy(l.arguments.data() + l.table_at, &p, sizeof p);
  }
  for (kernels::DeviceLaunch& l : launches) kernel(l.key);
  for (kernels::DeviceLaunch& l : launches) {
    ++starts_;
    void* parameters[] = {l.arguments.data()};
    gpu_.check(gpu_.driver().cuLaunchKernel(kernel(l.key), l.blocks, 1, 1, l.threads, 1, 1, l.shared_bytes, stream,
                                            parameters, nullptr),
               "the start of a kernel");
  }
}

}  // namespace sial::cuda
