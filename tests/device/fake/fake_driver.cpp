// libcuda.so.1 of tests: see fake.h.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <sstream>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "tests/device/fake/fake_world.h"

namespace fake_cuda {

thread_local Context current = nullptr;

World& world() {
  static World* w = new World;  // outlives everything that calls
  return *w;
}

namespace {

void read_settings() {
  World& w = world();
  w.settings.clear();
  const char* text = std::getenv("SIALX_FAKE_CUDA");
  std::istringstream in(text ? text : "");
  for (std::string item; std::getline(in, item, ',');) {
    const std::size_t eq = item.find('=');
    if (eq == std::string::npos) complain("settings are of the form key=number: " + item);
    w.settings[item.substr(0, eq)] = std::atoll(item.c_str() + eq + 1);
  }
}

std::uint64_t draw() {
  std::uint64_t& r = world().random;
  r ^= r << 13;
  r ^= r >> 7;
  r ^= r << 17;
  return r;
}

void check_walls() {
  for (const auto& [p, piece] : world().pieces)
    for (std::size_t i = 0; i < wall; ++i)
      if (piece.raw[i] != wall_byte || p[piece.bytes + i] != wall_byte)
        complain(fmt::format("a piece of {} bytes of device memory was overrun", piece.bytes));
}

bool step() {
  World& w = world();
  if (w.streams.empty()) return false;
  std::vector<Stream> order(w.streams.begin(), w.streams.end());
  const std::size_t first = draw() % order.size();
  for (std::size_t i = 0; i < order.size(); ++i) {
    auto& queue = order[(first + i) % order.size()]->queue;
    if (queue.empty() || (queue.front().wait && queue.front().wait->reached < queue.front().number)) continue;
    const Work work = std::move(queue.front());
    queue.pop_front();
    double& clock = order[(first + i) % order.size()]->clock;
    clock = std::max(clock, work.wait ? work.wait->at : work.put_at);
    if (work.run) work.run();
    return true;
  }
  return false;
}

}  // namespace

void go_on() {
  for (std::uint64_t n = draw() % 3; n > 0; --n) step();
}

namespace {

Status state() { return world().lost ? Status::launch_failed : Status::success; }

template <class Until>
Status wait_until(Until&& reached) {
  while (!reached()) {
    if (!step()) complain("streams wait for each other, or for an event that was never recorded");
  }
  check_walls();
  return state();
}

Status drain(Stream stream) {
  return wait_until([&] { return stream->queue.empty(); });
}

void drain_all() {
  for (Stream s : world().streams) drain(s);
}

bool overlap(const unsigned char* p, std::size_t n, const unsigned char* q, std::size_t m) {
  return p < q + m && q < p + n;
}

enum class HostMemory { pageable, pinned, mixed };
HostMemory kind_of(const void* host, std::size_t bytes) {
  const auto* p = static_cast<const unsigned char*>(host);
  bool touched = false;
  for (const auto& [q, n] : world().pinned) {
    if (p >= q && p + bytes <= q + n) return HostMemory::pinned;
    touched = touched || overlap(p, bytes, q, n);
  }
  return touched ? HostMemory::mixed : HostMemory::pageable;
}

void check_host(const void* host, std::size_t bytes) {
  const auto* p = static_cast<const unsigned char*>(host);
  for (const auto& [q, piece] : world().pieces)
    if (overlap(p, bytes, q, piece.bytes)) complain("device memory is given as the host's");
}

}  // namespace

void check_stream(Stream s) {
  if (!world().streams.count(s)) complain("a stream that does not exist");
  if (!current || current->gpu != s->gpu)
    complain("a stream is used while the context of another GPU, or none, is current");
}

Status enqueue(Stream s, std::function<void()> run) {
  World& w = world();
  if (w.lost) return Status::launch_failed;
  s->queue.push_back({[run = std::move(run), s] {
                        World& v = world();
                        if (++v.works == setting("lose", -1)) v.lost = true;
                        if (!v.lost) run();
                        s->clock += work_takes;
                      },
                      nullptr, 0, w.clock += call_takes});
  go_on();
  return Status::success;
}

void complain(const std::string& what) {
  std::fprintf(stderr, "fake cuda: %s\n", what.c_str());
  std::abort();
}

long long setting(const char* name, long long otherwise) {
  const auto found = world().settings.find(name);
  return found == world().settings.end() ? otherwise : found->second;
}

void check_device(const void* data, std::size_t bytes, const char* what) {
  const auto* p = static_cast<const unsigned char*>(data);
  auto found = world().pieces.upper_bound(p);
  if (found != world().pieces.begin() && (--found, p + bytes <= found->first + found->second.bytes)) return;
  complain(fmt::format("{}: {} bytes are not in one piece of device memory", what, bytes));
}

bool post(Stream stream, std::function<void()> work) {
  const std::lock_guard<std::recursive_mutex> guard(world().mutex);
  check_stream(stream);
  return enqueue(stream, std::move(work)) == Status::success;
}

}  // namespace fake_cuda

using namespace fake_cuda;

extern "C" {

FAKE_CUDA_SHOWN Status cuInit(unsigned) {
  read_settings();
  return setting("gpus", 1) == 0 ? Status::no_device : Status::success;
}
FAKE_CUDA_SHOWN Status cuDriverGetVersion(int* version) {
  *version = 13000;
  return Status::success;
}
FAKE_CUDA_SHOWN Status cuGetErrorName(Status s, const char** name) {
  *name = s == Status::success         ? "CUDA_SUCCESS"
          : s == Status::out_of_memory ? "CUDA_ERROR_OUT_OF_MEMORY"
          : s == Status::no_device     ? "CUDA_ERROR_NO_DEVICE"
          : s == Status::invalid_image ? "CUDA_ERROR_INVALID_IMAGE"
          : s == Status::launch_failed ? "CUDA_ERROR_LAUNCH_FAILED"
                                       : "CUDA_ERROR_OF_THE_FAKE";
  return Status::success;
}
FAKE_CUDA_SHOWN Status cuGetErrorString(Status, const char** text) {
  *text = "injected by a test";
  return Status::success;
}
FAKE_CUDA_SHOWN Status cuDeviceGetCount(int* count) {
  *count = static_cast<int>(setting("gpus", 1));
  return Status::success;
}
FAKE_CUDA_SHOWN Status cuDeviceGet(Gpu* gpu, int number) {
  if (number < 0 || number >= setting("gpus", 1)) return Status::invalid_value;
  *gpu = number;
  return Status::success;
}
FAKE_CUDA_SHOWN Status cuDeviceGetName(char* name, int length, Gpu) {
  std::snprintf(name, static_cast<std::size_t>(length), "Fake GPU");
  return Status::success;
}
FAKE_CUDA_SHOWN Status cuDeviceGetAttribute(int* value, Attribute attribute, Gpu) {
  *value = attribute == Attribute::multiprocessors ? 4
           : attribute == Attribute::compute_major ? static_cast<int>(setting("compute", 90) / 10)
                                                   : static_cast<int>(setting("compute", 90) % 10);
  return Status::success;
}
FAKE_CUDA_SHOWN Status cuDeviceTotalMem_v2(std::size_t* bytes, Gpu) {
  *bytes = static_cast<std::size_t>(setting("memory", 64 << 20));
  return Status::success;
}
FAKE_CUDA_SHOWN Status cuDevicePrimaryCtxRetain(Context* context, Gpu gpu) {
  const std::lock_guard<std::recursive_mutex> guard(world().mutex);
  World& w = world();
  if (std::all_of(w.contexts.begin(), w.contexts.end(), [](const auto& c) { return c.second.holders == 0; })) {
    read_settings();
    w.random = static_cast<std::uint64_t>(setting("seed", 1)) * 0x9e3779b97f4a7c15ULL + 1;
    w.allocations = w.works = 0;
    w.lost = false;
  }
  if (setting("context", 0) != 0) return Status::out_of_memory;
  ContextObject& c = w.contexts[gpu];
  c.gpu = gpu;
  ++c.holders;
  *context = &c;
  return Status::success;
}
FAKE_CUDA_SHOWN Status cuDevicePrimaryCtxRelease_v2(Gpu gpu) {
  const std::lock_guard<std::recursive_mutex> guard(world().mutex);
  World& w = world();
  ContextObject& c = w.contexts[gpu];
  if (c.holders-- == 0) complain("a context is released that nobody holds");
  if (c.holders > 0) return Status::success;
  if (!w.lost) drain_all();
  for (const auto& [p, piece] : w.pieces)
    if (piece.gpu == gpu) complain(fmt::format("{} bytes of device memory are left behind", piece.bytes));
  for (Stream s : w.streams)
    if (s->gpu == gpu) complain("a stream is left behind");
  if (std::all_of(w.contexts.begin(), w.contexts.end(), [](const auto& held) { return held.second.holders == 0; })) {
    if (!w.pinned.empty()) complain("pinned memory is left behind");
    if (!w.events.empty()) complain(fmt::format("{} events are left behind", w.events.size()));
  }
  return Status::success;
}
FAKE_CUDA_SHOWN Status cuCtxSetCurrent(Context context) {
  current = context;
  return Status::success;
}

FAKE_CUDA_SHOWN Status cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
  GUARD;
  *total = static_cast<std::size_t>(setting("memory", 64 << 20));
  *free = *total;
  for (const auto& [p, piece] : world().pieces)
    if (piece.gpu == current->gpu) *free -= piece.bytes;
  return Status::success;
}
FAKE_CUDA_SHOWN Status cuMemAlloc_v2(Address* p, std::size_t bytes) {
  GUARD;
  World& w = world();
  std::size_t free = 0, total = 0;
  cuMemGetInfo_v2(&free, &total);
  if (const long long fail = setting("alloc", -1); (++w.allocations >= fail && fail > 0) || bytes > free)
    return Status::out_of_memory;
  if (bytes == 0) return Status::invalid_value;
  const std::size_t whole = (bytes + 2 * wall + wall - 1) / wall * wall;
  auto* raw = static_cast<unsigned char*>(std::aligned_alloc(wall, whole));
  std::memset(raw, wall_byte, whole);
  std::fill_n(reinterpret_cast<double*>(raw + wall), bytes / 8, std::numeric_limits<double>::quiet_NaN());
  record_allocated(raw + wall, bytes);
  w.pieces[raw + wall] = {bytes, raw, current->gpu};
  *p = reinterpret_cast<Address>(raw + wall);
  return Status::success;
}
FAKE_CUDA_SHOWN Status cuMemFree_v2(Address p) {
  const std::lock_guard<std::recursive_mutex> guard(world().mutex);
  World& w = world();
  const auto found = w.pieces.find(reinterpret_cast<const unsigned char*>(p));
  if (found == w.pieces.end()) complain("device memory is freed that was not allocated");
  if (!w.lost) drain_all();
  check_walls();
  record_freed(found->second.raw + wall);
  std::free(found->second.raw);
  w.pieces.erase(found);
  return state();
}
FAKE_CUDA_SHOWN Status cuMemHostAlloc(void** p, std::size_t bytes, unsigned) {
  GUARD;
  if (setting("host", 0) != 0) return Status::out_of_memory;
  *p = std::aligned_alloc(wall, (bytes + wall - 1) / wall * wall);
  world().pinned[static_cast<const unsigned char*>(*p)] = bytes;
  return Status::success;
}
FAKE_CUDA_SHOWN Status cuMemFreeHost(void* p) {
  const std::lock_guard<std::recursive_mutex> guard(world().mutex);
  if (!world().lost) drain_all();
  if (world().pinned.erase(static_cast<const unsigned char*>(p)) == 0)
    complain("pinned memory is freed that was not allocated");
  std::free(p);
  return state();
}
FAKE_CUDA_SHOWN Status cuMemHostRegister_v2(void* p, std::size_t bytes, unsigned) {
  GUARD;
  if (setting("pin", 0) != 0) return Status::out_of_memory;
  if (kind_of(p, bytes) != HostMemory::pageable) return Status::already_registered;
  world().pinned[static_cast<const unsigned char*>(p)] = bytes;
  world().registered.insert(static_cast<const unsigned char*>(p));
  return Status::success;
}
FAKE_CUDA_SHOWN Status cuMemHostUnregister(void* p) {
  const std::lock_guard<std::recursive_mutex> guard(world().mutex);
  if (!world().lost) drain_all();
  if (world().registered.erase(static_cast<const unsigned char*>(p)) == 0)
    complain("host memory is unregistered that was not registered");
  world().pinned.erase(static_cast<const unsigned char*>(p));
  return state();
}

FAKE_CUDA_SHOWN Status cuMemcpyHtoDAsync_v2(Address to, const void* from, std::size_t bytes, Stream stream) {
  GUARD;
  check_stream(stream);
  if (bytes == 0) return Status::success;
  auto* target = reinterpret_cast<void*>(to);
  check_device(target, bytes, "copy to the device");
  check_host(from, bytes);
  switch (kind_of(from, bytes)) {
    case HostMemory::mixed: return Status::invalid_value;
    case HostMemory::pinned:
      return enqueue(stream, [=] {
        if (kind_of(from, bytes) != HostMemory::pinned) complain("host memory was unpinned while a copy needed it");
        check_device(target, bytes, "copy to the device");
        std::memcpy(target, from, bytes);
      });
    case HostMemory::pageable: break;
  }
  if (const Status s = drain(stream); s != Status::success) return s;
  std::vector<unsigned char> staged(static_cast<const unsigned char*>(from),
                                    static_cast<const unsigned char*>(from) + bytes);
  return enqueue(stream, [=, staged = std::move(staged)] {
    check_device(target, bytes, "copy to the device");
    std::memcpy(target, staged.data(), bytes);
  });
}
FAKE_CUDA_SHOWN Status cuMemcpyDtoHAsync_v2(void* to, Address from, std::size_t bytes, Stream stream) {
  GUARD;
  check_stream(stream);
  if (bytes == 0) return Status::success;
  const auto* source = reinterpret_cast<const void*>(from);
  check_device(source, bytes, "copy to the host");
  check_host(to, bytes);
  const HostMemory kind = kind_of(to, bytes);
  if (kind == HostMemory::mixed) return Status::invalid_value;
  const Status done = enqueue(stream, [=] {
    if (kind_of(to, bytes) != kind) complain("host memory was pinned or unpinned while a copy needed it");
    check_device(source, bytes, "copy to the host");
    std::memcpy(to, source, bytes);
  });
  return done != Status::success || kind == HostMemory::pinned ? done : drain(stream);
}

FAKE_CUDA_SHOWN Status cuMemcpyDtoDAsync_v2(Address to, Address from, std::size_t bytes, Stream stream) {
  GUARD;
  check_stream(stream);
  auto* target = reinterpret_cast<void*>(to);
  const auto* source = reinterpret_cast<const void*>(from);
  check_device(target, bytes, "copy on the device");
  check_device(source, bytes, "copy on the device");
  return enqueue(stream, [=] { std::memmove(target, source, bytes); });
}

FAKE_CUDA_SHOWN Status cuStreamCreate(Stream* stream, unsigned flags) {
  GUARD;
  if (flags != stream_non_blocking) complain("a stream that waits for the default one");
  *stream = new StreamObject{current->gpu, {}, world().clock};
  world().streams.insert(*stream);
  return Status::success;
}
FAKE_CUDA_SHOWN Status cuStreamDestroy_v2(Stream stream) {
  const std::lock_guard<std::recursive_mutex> guard(world().mutex);
  if (world().streams.count(stream) == 0) complain("a stream is destroyed that does not exist");
  if (!world().lost) drain(stream);
  world().streams.erase(stream);
  delete stream;
  return state();
}
FAKE_CUDA_SHOWN Status cuStreamWaitEvent(Stream stream, Event event, unsigned) {
  GUARD;
  check_stream(stream);
  stream->queue.push_back({{}, event->state, event->state->recorded, world().clock += call_takes});
  go_on();
  return state();
}
FAKE_CUDA_SHOWN Status cuStreamSynchronize(Stream stream) {
  GUARD;
  check_stream(stream);
  const Status status = drain(stream);
  world().clock = std::max(world().clock, stream->clock);
  return status;
}
FAKE_CUDA_SHOWN Status cuEventCreate(Event* event, unsigned flags) {
  GUARD;
  *event = new EventObject;
  (*event)->timed = (flags & event_disable_timing) == 0;
  world().events.insert(*event);
  return Status::success;
}
FAKE_CUDA_SHOWN Status cuEventDestroy_v2(Event event) {
  const std::lock_guard<std::recursive_mutex> guard(world().mutex);
  if (world().events.erase(event) == 0) complain("an event is destroyed that does not exist");
  delete event;
  return state();
}
FAKE_CUDA_SHOWN Status cuEventRecord(Event event, Stream stream) {
  GUARD;
  check_stream(stream);
  const std::uint64_t number = ++event->state->recorded;
  const auto reach = [state = event->state, number, stream] {
    state->reached = std::max(state->reached, number);
    state->at = stream->clock;
  };
  stream->queue.push_back({reach, nullptr, 0, world().clock += call_takes});
  go_on();
  return state();
}
FAKE_CUDA_SHOWN Status cuEventQuery(Event event) {
  GUARD;
  go_on();
  if (world().lost) return Status::launch_failed;
  return event->state->reached == event->state->recorded ? Status::success : Status::not_ready;
}
FAKE_CUDA_SHOWN Status cuEventSynchronize(Event event) {
  GUARD;
  const Status status = wait_until([&] { return event->state->reached == event->state->recorded; });
  world().clock = std::max(world().clock, event->state->at);
  return status;
}
FAKE_CUDA_SHOWN Status cuEventElapsedTime(float* milliseconds, Event begin, Event end) {
  GUARD;
  for (const Event e : {begin, end}) {
    if (world().events.count(e) == 0) complain("the time of an event that does not exist");
    if (!e->timed || e->state->recorded == 0) complain("the time of an event that takes none, or was never recorded");
    if (e->state->reached != e->state->recorded) return Status::not_ready;
  }
  *milliseconds = static_cast<float>(end->state->at - begin->state->at);
  return Status::success;
}

FAKE_CUDA_SHOWN Status cuModuleLoadDataEx(Module* module, const void* image, unsigned options, LoadOption* option,
                                          void** value) {
  GUARD;
  std::string problem;
  Code code;
  if (setting("module", 0) != 0) problem = "this code is refused, as a test wishes";
  else code = find_code(static_cast<const char*>(image), problem);
  if (!problem.empty()) {
    char* log = nullptr;
    std::size_t bytes = 0;
    for (unsigned i = 0; i < options; ++i) {
      if (option[i] == LoadOption::error_log) log = static_cast<char*>(value[i]);
      if (option[i] == LoadOption::error_log_bytes) bytes = reinterpret_cast<std::size_t>(value[i]);
    }
    if (log && bytes > 0) std::snprintf(log, bytes, "%s", problem.c_str());
    return Status::invalid_image;
  }
  *module = new ModuleObject{code.name, {code}};
  return Status::success;
}
FAKE_CUDA_SHOWN Status cuModuleUnload(Module module) {
  const std::lock_guard<std::recursive_mutex> guard(world().mutex);
  if (!world().lost) drain_all();
  delete module;
  return state();
}
FAKE_CUDA_SHOWN Status cuModuleGetFunction(Function* function, Module module, const char* name) {
  GUARD;
  if (module->name != name) return Status::invalid_value;
  *function = &module->function;
  return Status::success;
}
FAKE_CUDA_SHOWN Status cuLaunchKernel(Function function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                                      unsigned by, unsigned bz, unsigned shared, Stream stream, void** parameters,
                                      void** extra) {
  GUARD;
  check_stream(stream);
  if (extra != nullptr || !parameters) complain("parameters of a kernel in a form that is not expected");
  if (gx == 0 || gy == 0 || gz == 0 || gy > 65535 || gz > 65535 || bx * by * bz == 0 || bx * by * bz > 1024 ||
      shared > (48u << 10))
    return Status::invalid_value;
  return enqueue(stream, prepare(function->code, {gx, gy, gz}, {bx, by, bz}, shared, parameters));
}

}  // extern "C"
