// Graphs of the fake driver: see fake.h. A driver before CUDA 12 is one without this file.

#include <utility>

#include "tests/device/fake/fake_world.h"

using namespace fake_cuda;

namespace {

bool same_kinds(const std::vector<Node>& x, const std::vector<Node>& y) {
  if (x.size() != y.size()) return false;
  for (std::size_t i = 0; i < x.size(); ++i)
    if (x[i].kind != y[i].kind) return false;
  return true;
}

}  // namespace

extern "C" {

FAKE_CUDA_SHOWN Status cuStreamBeginCapture_v2(Stream stream, CaptureMode mode) {
  GUARD;
  check_stream(stream);
  if (mode != CaptureMode::this_thread) complain("a capture that other threads of the process meet");
  if (setting("graph", 0) == 1) return Status::out_of_memory;
  if (stream->captured || capturing) complain("a capture within a capture");
  stream->captured.emplace();
  capturing = stream;
  return Status::success;
}
FAKE_CUDA_SHOWN Status cuStreamEndCapture(Stream stream, Graph* graph) {
  const std::lock_guard<std::recursive_mutex> guard(world().mutex);
  check_stream(stream);
  *graph = nullptr;
  if (!stream->captured || capturing != stream) return Status::capture_unmatched;
  Captured captured = std::move(*stream->captured);
  stream->captured.reset();
  capturing = nullptr;
  if (world().lost) return Status::launch_failed;
  if (captured.invalid || setting("graph", 0) == 2) return Status::capture_invalidated;
  *graph = new GraphObject{std::move(captured.nodes)};
  world().graphs.insert(*graph);
  return Status::success;
}
FAKE_CUDA_SHOWN Status cuGraphDestroy(Graph graph) {
  const std::lock_guard<std::recursive_mutex> guard(world().mutex);
  if (world().graphs.erase(graph) == 0) complain("a graph is destroyed that does not exist");
  delete graph;
  return Status::success;
}
FAKE_CUDA_SHOWN Status cuGraphInstantiateWithFlags(GraphRun* run, Graph graph, unsigned long long flags) {
  GUARD;
  if (world().graphs.count(graph) == 0 || flags != 0)
    complain("a graph is instantiated that does not exist, or in a way that is not expected");
  if (setting("graph", 0) == 3) return Status::out_of_memory;
  *run = new GraphRunObject{graph->nodes};
  world().graph_runs.insert(*run);
  return Status::success;
}
FAKE_CUDA_SHOWN Status cuGraphExecUpdate_v2(GraphRun run, Graph graph, UpdateResult* result) {
  GUARD;
  if (world().graphs.count(graph) == 0 || world().graph_runs.count(run) == 0 || !result)
    complain("a graph is updated that does not exist, or from one that does not");
  if (setting("graph", 0) == 4 || !same_kinds(run->nodes, graph->nodes)) {
    result->reason = 2;
    for (Node& node : run->nodes) node.run = [] { complain("a graph is started that an update was refused for"); };
    return Status::update_refused;
  }
  run->nodes = graph->nodes;
  return Status::success;
}
FAKE_CUDA_SHOWN Status cuGraphLaunch(GraphRun run, Stream stream) {
  GUARD;
  check_stream(stream);
  if (world().graph_runs.count(run) == 0) complain("a graph is started that does not exist");
  if (stream->captured) complain("a graph is started within a capture");
  if (setting("graph", 0) == 5) return Status::out_of_memory;
  double takes = call_takes;
  for (const Node& node : run->nodes) put(stream, node.run, std::exchange(takes, 0.0));
  go_on();
  return Status::success;
}
FAKE_CUDA_SHOWN Status cuGraphExecDestroy(GraphRun run) {
  const std::lock_guard<std::recursive_mutex> guard(world().mutex);
  if (world().graph_runs.erase(run) == 0) complain("an instantiated graph is destroyed that does not exist");
  delete run;
  return Status::success;
}

}  // extern "C"
