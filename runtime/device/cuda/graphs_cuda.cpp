#include "runtime/device/cuda/graphs.h"

#include <chrono>

#include "runtime/base/fault_injection.h"

namespace sial::cuda {
namespace {

const GraphFunctions& driver() { return libraries().graphs; }

/// Of a stream, for as long as this lives: nothing that is put there is done.
class Capture {
 public:
  Capture(GpuDevice& gpu, Stream stream) : gpu_(gpu), stream_(stream) {
    open_ = driver().cuStreamBeginCapture_v2(stream, CaptureMode::this_thread) == Status::success;
    gpu_.capture(open_);
  }
  ~Capture() {
    if (const Graph rest = end()) driver().cuGraphDestroy(rest);
  }
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;
  bool open() const { return open_; }
  /// What was captured; null where the driver says that it is not whole.
  Graph end() noexcept {
    if (!open_) return nullptr;
    open_ = false;
    gpu_.capture(false);
    Graph graph = nullptr;
    return driver().cuStreamEndCapture(stream_, &graph) == Status::success ? graph : nullptr;
  }

 private:
  GpuDevice& gpu_;
  Stream stream_;
  bool open_ = false;
};

struct Captured {
  Graph graph = nullptr;
  ~Captured() {
    if (graph) driver().cuGraphDestroy(graph);
  }
};

}  // namespace

Graphs::~Graphs() {
  for (Known& k : known_) forget(k);
}

/// A graph that still runs goes when it is done.
void Graphs::forget(Known& composition) noexcept {
  if (composition.graph) driver().cuGraphExecDestroy(std::exchange(composition.graph, nullptr));
}

Graphs::Known& Graphs::known(Stream stream, std::uint64_t composition) {
  const std::pair key(stream, composition);
  if (const auto found = at_.find(key); found != at_.end()) {
    known_.splice(known_.begin(), known_, found->second);
    return known_.front();
  }
  if (known_.size() >= max_known) {
    forget(known_.back());
    at_.erase(known_.back().key);
    known_.pop_back();
  }
  known_.push_front({key, GroupTrial(when_), nullptr});
  at_.emplace(key, known_.begin());
  return known_.front();
}

/// Null where it could not be captured whole. Errors of the driver are told when the work is put in piece by piece, if
/// they are there to stay.
Graph Graphs::capture(Stream stream, const std::function<void()>& work, const std::function<std::int64_t()>& starts,
                      std::int64_t& inside) {
  Capture capture(gpu_, stream);
  if (!capture.open()) return nullptr;
  const std::int64_t before = starts();
  bool whole = false;
  try {
    work();
    whole = true;
  } catch (const NotCaptured&) {
    // The work is put in once more.
  }
  inside = starts() - before;
  captured_ += inside;
  return whole ? capture.end() : nullptr;
}

/// The composition's graph is this one.
bool Graphs::bring_up(Known& composition, Graph graph) {
  if (composition.graph) {
    UpdateResult result;
    if (fault_enabled(Fault::device_graph) ||
        driver().cuGraphExecUpdate_v2(composition.graph, graph, &result) == Status::success)
      return true;
    forget(composition);  // what is left of it after a refusal is of no use
    composition.trial.failed();
  }
  return driver().cuGraphInstantiateWithFlags(&composition.graph, graph, 0) == Status::success ||
         (composition.graph = nullptr);
}

/// False where nothing is started.
bool Graphs::start(Known& composition, Stream stream, const std::function<void()>& work,
                   const std::function<std::int64_t()>& starts) {
  std::int64_t inside = 0;
  const Captured captured{capture(stream, work, starts, inside)};
  if (!captured.graph) return false;
  if (inside == 0) return true;
  if (!bring_up(composition, captured.graph)) return false;
  const Status status = driver().cuGraphLaunch(composition.graph, stream);
  if (status == Status::out_of_memory) return false;
  gpu_.check(status, "the start of a graph");
  ++started_;
  inside_ += inside;
  return true;
}

void Graphs::run(Stream stream, std::uint64_t number, const std::function<void()>& work,
                 const std::function<std::int64_t()>& starts) {
  using Clock = std::chrono::steady_clock;
  Known& composition = known(stream, number);
  const GroupTrial::Way way = composition.trial.next();
  const auto begin = Clock::now();
  if (way == GroupTrial::Way::pieces) {
    work();
  } else if (!start(composition, stream, work, starts)) {
    composition.trial.failed();
    forget(composition);
    return work();
  }
  composition.trial.took(way, std::chrono::duration<double>(Clock::now() - begin).count());
  if (composition.graph && composition.trial.decided() && composition.trial.next() == GroupTrial::Way::pieces)
    forget(composition);
}

}  // namespace sial::cuda
