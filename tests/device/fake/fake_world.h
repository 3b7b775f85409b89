#pragma once
// What the parts of the fake driver share: its world, and how work comes into a stream. See fake.h.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tests/device/fake/fake.h"
#include "tests/device/fake/fake_code.h"

namespace fake_cuda {

using namespace sial::cuda;

/// Of the clock, in milliseconds: what a piece of work takes, and what a call of the host takes.
constexpr double work_takes = 0.008, call_takes = 0.002;
constexpr std::size_t wall = 4096;
constexpr unsigned char wall_byte = 0xa5;

struct EventState {
  std::uint64_t recorded = 0, reached = 0;
  double at = 0;  // when it was reached, in milliseconds
};

struct Piece {
  std::size_t bytes = 0;
  unsigned char* raw = nullptr;
  int gpu = 0;
};

struct Work {
  std::function<void()> run;
  std::shared_ptr<EventState> wait;
  std::uint64_t number = 0;
  double put_at = 0;  // into the stream
};

/// What a stream has put aside since it captures; as a graph it is a chain of nodes. Kinds: update asks for the same.
enum class NodeKind { kernel, copy, record };
struct Node {
  NodeKind kind = NodeKind::kernel;
  std::function<void()> run;
};
struct Captured {
  std::vector<Node> nodes;
  bool invalid = false;
};

}  // namespace fake_cuda

namespace sial::cuda {
struct ContextObject {
  int gpu = 0, holders = 0;
};
struct StreamObject {
  int gpu = 0;
  std::deque<fake_cuda::Work> queue;
  double clock = 0;  // see the clock of fake.h
  std::optional<fake_cuda::Captured> captured;
};
struct EventObject {
  bool timed = false, captured = false;  // captured: when it was last recorded
  std::shared_ptr<fake_cuda::EventState> state = std::make_shared<fake_cuda::EventState>();
};
struct FunctionObject {
  fake_cuda::Code code;
};
struct ModuleObject {
  std::string name;
  FunctionObject function;
};
struct GraphObject {
  std::vector<fake_cuda::Node> nodes;
};
struct GraphRunObject {
  std::vector<fake_cuda::Node> nodes;
};
}  // namespace sial::cuda

namespace fake_cuda {

struct World {
  std::recursive_mutex mutex;
  std::map<std::string, long long> settings;
  std::map<const unsigned char*, Piece> pieces;
  std::map<const unsigned char*, std::size_t> pinned;  // allocated or registered host memory
  std::set<const unsigned char*> registered;
  std::map<int, ContextObject> contexts;
  std::set<Stream> streams;
  std::set<EventObject*> events;
  std::set<GraphObject*> graphs;
  std::set<GraphRunObject*> graph_runs;
  std::uint64_t random = 1;
  long long allocations = 0, works = 0, captures = 0;
  bool lost = false;
  double clock = 0;  // the host's
};

World& world();
extern thread_local Context current;
/// The stream that this thread captures; null: none.
extern thread_local Stream capturing;

void go_on();
void check_stream(Stream s);
/// The call is refused while this thread captures, and ends what it captures: it may wait for the device, or for other
/// work than that which is captured.
bool refused_in_capture();
/// Into the stream, or what it captures.
Status enqueue(Stream s, std::function<void()> run, NodeKind kind);
/// Into the stream; `takes`: of the host's clock.
void put(Stream s, std::function<void()> run, double takes);

#define GUARD                                                       \
  const std::lock_guard<std::recursive_mutex> guard(world().mutex); \
  if (!current) complain("no context is current");                  \
  if (world().lost) return Status::launch_failed
#define GUARD_UNSAFE \
  GUARD;             \
  if (refused_in_capture()) return Status::capture_unsupported

}  // namespace fake_cuda
