#pragma once
// Small work of a stream that comes in one composition again and again, captured and started as one graph. A graph is
// captured anew each time and its predecessor of the composition brought up to it, with all addresses, or made anew
// where the driver refuses that: it never runs with what an earlier one was given. While work is captured none of it is
// done, so what cannot be captured is put into the stream once more, piece by piece. The device outlives this.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <unordered_map>
#include <utility>

#include "runtime/device/batch/group_trial.h"
#include "runtime/device/cuda/gpu.h"

namespace sial::cuda {

class Graphs {
 public:
  /// Compositions that are known at a time: beyond it the one that was not met for longest is forgotten.
  static constexpr std::size_t max_known = 256;

  Graphs(GpuDevice& gpu, DeviceGraphs when) : gpu_(gpu), when_(when) {}
  ~Graphs();
  Graphs(const Graphs&) = delete;
  Graphs& operator=(const Graphs&) = delete;

  /// As Device::run_group(). `starts`: those counted so far, captured ones among them.
  void run(Stream stream, std::uint64_t composition, const std::function<void()>& work,
           const std::function<std::int64_t()>& starts);
  std::int64_t started() const { return started_; }
  std::int64_t inside() const { return inside_; }  // kernels and products in them
  std::int64_t captured() const {
    return captured_;
  }  // kernels and products that were counted but not started by themselves

 private:
  struct Known {
    std::pair<Stream, std::uint64_t> key;
    GroupTrial trial;
    GraphRun graph = nullptr;
  };
  Known& known(Stream stream, std::uint64_t composition);
  Graph capture(Stream stream, const std::function<void()>& work, const std::function<std::int64_t()>& starts,
                std::int64_t& inside);
  bool bring_up(Known& composition, Graph graph);
  bool start(Known& composition, Stream stream, const std::function<void()>& work,
             const std::function<std::int64_t()>& starts);
  void forget(Known& composition) noexcept;

  struct Hash {
    std::size_t operator()(const std::pair<Stream, std::uint64_t>& key) const {
      return static_cast<std::size_t>(key.second) ^ std::hash<Stream>()(key.first);
    }
  };

  GpuDevice& gpu_;
  const DeviceGraphs when_;
  std::list<Known> known_;  // what was met last in front
  std::unordered_map<std::pair<Stream, std::uint64_t>, std::list<Known>::iterator, Hash> at_;
  std::int64_t started_ = 0, inside_ = 0, captured_ = 0;
};

}  // namespace sial::cuda
