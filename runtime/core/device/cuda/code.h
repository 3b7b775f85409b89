#pragma once
// Generated kernels on one GPU: modules, loaded when a kernel is first started and kept, and the tables of numbers that
// kernels read, uploaded once per content. The device outlives this.

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/core/device/cuda/gpu.h"
#include "runtime/core/kernels/gpu/device_code.h"

namespace sial::cuda {

class DeviceCode {
 public:
  /// Throws EnvironmentError for a GPU that no code can be generated for.
  DeviceCode(GpuDevice& gpu, const std::string& cache_folder);
  ~DeviceCode();
  DeviceCode(const DeviceCode&) = delete;
  DeviceCode& operator=(const DeviceCode&) = delete;

  /// All of them into the stream, in order. Throws DeviceFull, and starts nothing then, when a table has no room.
  void launch(Stream stream, std::span<kernels::DeviceLaunch> launches);
  const std::string& target() const { return source_->target(); }
  std::int64_t starts() const { return starts_; }
  std::size_t modules() const { return kernels_.size(); }
  std::size_t tables() const { return tables_.size(); }

 private:
  struct Kernel {
    Module module = nullptr;
    Function function = nullptr;
  };
  Function kernel(const kernels::CodeKey& key);
  Address table(const std::vector<double>& values);
  void evict_tables();

  GpuDevice& gpu_;
  std::unique_ptr<kernels::DeviceCodeSource> source_;
  Stream uploads_ = nullptr;
  std::map<kernels::CodeKey, Kernel> kernels_;
  std::map<std::vector<double>, Address> tables_;
  std::size_t table_bytes_ = 0;
  std::int64_t starts_ = 0;
};

}  // namespace sial::cuda
