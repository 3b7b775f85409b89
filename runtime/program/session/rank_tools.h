#pragma once
// What one rank has for all of its jobs: the store, work queue, kernels and device over a transport, and how far its
// programs have come. Other ranks may write into its memory or ask it for blocks as long as it is there.

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <memory>
#include <string>

#include "runtime/program/session/options.h"

namespace sial {

class RankTools {
 public:
  /// The transport and the streams outlive the tools.
  RankTools(Transport& transport_of_rank, const SessionOptions& given, std::ostream& output, std::ostream& errors)
      : transport(transport_of_rank), options(given), out(output), err(errors) {}
  /// Collective (servers included), first of all.
  void start();

  bool is_first() const { return transport.rank() == 0; }
  CollectiveTag tag(CollectiveKind kind) const { return {kind, {programs_run, -1}}; }
  /// Collective: rank 0's code and text, on all ranks.
  int share(int code, std::string& text);
  /// Collective: what rank 0 does, and the exit code on all ranks where it throws; rank 0 says the error.
  int on_first(const std::function<void()>& work, std::string& text);
  /// Collective: whether blocks of so many bytes, over all ranks, fit beside what the jobs so far needed at most.
  bool has_memory_for(std::int64_t bytes);
  /// Elements that the largest block of a program has where the device is used.
  std::int64_t min_block() const;

  Transport& transport;
  SessionOptions options;
  std::ostream& out;
  std::ostream& err;
  std::unique_ptr<WorkQueue> queue;
  std::unique_ptr<BlockStore> store;
  std::unique_ptr<Kernels> block_kernels;
  std::unique_ptr<Device> device;
  bool device_messages_direct = false;
  std::int32_t programs_run = 0;
  std::int64_t barriers = 0;

 private:
  std::shared_ptr<const kernels::ContractionCosts> costs_of_all();
  void make_device_of_rank();
  void choose_device_messages();
};

}  // namespace sial
