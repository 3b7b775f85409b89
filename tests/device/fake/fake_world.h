#pragma once
// What the parts of the fake driver share: its world, and how work comes into a stream. See fake.h.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
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

}  // namespace fake_cuda

namespace sial::cuda {
struct ContextObject {
  int gpu = 0, holders = 0;
};
struct StreamObject {
  int gpu = 0;
  std::deque<fake_cuda::Work> queue;
  double clock = 0;  // see the clock of fake.h
};
struct EventObject {
  bool timed = false;
  std::shared_ptr<fake_cuda::EventState> state = std::make_shared<fake_cuda::EventState>();
};
struct FunctionObject {
  fake_cuda::Code code;
};
struct ModuleObject {
  std::string name;
  FunctionObject function;
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
  std::uint64_t random = 1;
  long long allocations = 0, works = 0;
  bool lost = false;
  double clock = 0;  // the host's
};

World& world();
extern thread_local Context current;

void go_on();
void check_stream(Stream s);
Status enqueue(Stream s, std::function<void()> run);

#define GUARD                                                       \
  const std::lock_guard<std::recursive_mutex> guard(world().mutex); \
  if (!current) complain("no context is current");                  \
  if (world().lost) return Status::launch_failed

}  // namespace fake_cuda
