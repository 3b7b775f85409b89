#include "runtime/core/device/cuda/staging.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <vector>

namespace sial::cuda {
namespace {

constexpr std::size_t max_chunks = 256;
constexpr std::size_t ring_bytes = std::size_t{16} << 20, piece_bytes = ring_bytes / 4;
/// The bytes that the driver takes into its own buffers at once; beyond it copies from pageable memory wait for all
/// that is in the stream.
constexpr std::size_t max_direct = std::size_t{64} << 10;

}  // namespace

Staging::Staging(GpuDevice& gpu, WorkTimer& timer, Stream in, Stream out, std::int64_t staged_from)
    : gpu_(gpu), timer_(timer), in_(in), out_(out), staged_from_(staged_from) {
  for (Ring* ring : {&ring_in_, &ring_out_}) {
    void* p = nullptr;
    // Without pinned memory copies are as fast as the driver makes them.
    if (gpu_.driver().cuMemHostAlloc(&p, ring_bytes, 0) == Status::success) ring->base = static_cast<char*>(p);
  }
}

Staging::~Staging() {
  if (!gpu_.lost()) {
    gpu_.driver().cuStreamSynchronize(in_);
    gpu_.driver().cuStreamSynchronize(out_);
  }
  for (Ring* ring : {&ring_in_, &ring_out_}) {
    for (const Chunk& c : ring->chunks) gpu_.give_event(c.done);
    if (ring->base) gpu_.driver().cuMemFreeHost(ring->base);
  }
  for (const auto& [p, bytes] : regions_) gpu_.driver().cuMemHostUnregister(const_cast<char*>(p));
}

/// By copies of both kinds to a little device memory, a millisecond or so.
void Staging::measure() {
  staged_from_ = static_cast<std::int64_t>(max_direct);
  if (!ring_in_.base) return;
  struct Room {
    GpuDevice& gpu;
    const Address p = gpu.allocate(max_direct, "reserving memory to measure copies");
    ~Room() { gpu.free(p); }
  };
  const Room room{gpu_};
  if (!room.p) return;
  const Address p = room.p;
  const std::vector<char> host(max_direct, 0);
  const auto seconds = [&](std::size_t bytes, bool staged) {
    double best = 1e9;
    for (int round = 0; round < 4; ++round) {
      const auto begin = std::chrono::steady_clock::now();
      if (staged) stage_in(p, host.data(), bytes);
      else put_in(p, host.data(), bytes);
      gpu_.check(gpu_.driver().cuStreamSynchronize(in_), "a copy to the device");
      best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    }
    return best;
  };
  for (std::size_t bytes = max_direct; bytes >= 1024; bytes /= 4) {
    if (seconds(bytes, true) > seconds(bytes, false)) break;
    staged_from_ = static_cast<std::int64_t>(bytes);
  }
}

Staging::Memory Staging::kind_of(const void* p, std::size_t bytes) const {
  const char* first = static_cast<const char*>(p);
  auto next = regions_.upper_bound(first);
  const bool touches_next = next != regions_.end() && next->first < first + bytes;
  if (next == regions_.begin()) return touches_next ? Memory::both : Memory::pageable;
  const auto& [start, size] = *std::prev(next);
  if (first + bytes <= start + size) return Memory::pinned;
  return touches_next || first < start + size ? Memory::both : Memory::pageable;
}

/// The oldest piece: its memory is free again, and what came out is where it belongs. `wait`: else only if it is done.
void Staging::retire(Ring& ring, bool wait) {
  const Chunk c = ring.chunks.front();
  const bool arrived = !wait || gpu_.finish(c.done, "waiting for a copy");
  if (c.host && arrived) std::memcpy(c.host, ring.base + c.offset, c.bytes);
  gpu_.give_event(c.done);
  ring.chunks.pop_front();
}

/// Room in the ring, after waiting for pieces in the way.
std::size_t Staging::take(Ring& ring, std::size_t bytes) {
  const std::size_t n = (bytes + 63) / 64 * 64;
  while (ring.chunks.size() >= max_chunks) retire(ring, true);
  for (;;) {
    // Used is [tail, head), or, where pieces begin at the start again, all but [head, tail). They are equal when
    // nothing is free.
    std::size_t at = ring.head;
    const std::size_t tail = ring.chunks.empty() ? 0 : ring.chunks.front().offset;
    bool room = false;
    if (ring.chunks.empty()) {
      at = 0;
      room = true;
    } else if (at <= tail) {
      room = tail - at > n;
    } else if (ring_bytes - at >= n) {
      room = true;
    } else {
      at = 0;
      room = tail > n;
    }
    if (room) {
      ring.head = at + n;
      return at;
    }
    retire(ring, true);
  }
}

/// Pieces at the front that are done.
void Staging::retire_done(Ring& ring) {
  while (!ring.chunks.empty()) {
    const Status status = gpu_.driver().cuEventQuery(ring.chunks.front().done);
    if (status == Status::not_ready || !gpu_.check(status, "asking for a copy")) return;
    retire(ring, false);
  }
}

void Staging::deliver() { retire_done(ring_out_); }

/// Waits for all that is on its way to this memory of the host.
void Staging::complete(const void* p, std::size_t bytes) {
  const char* first = static_cast<const char*>(p);
  auto& chunks = ring_out_.chunks;
  const auto in_the_way = [&](const Chunk& c) { return c.host < first + bytes && first < c.host + c.bytes; };
  while (std::any_of(chunks.begin(), chunks.end(), in_the_way)) retire(ring_out_, true);
}

void Staging::put_in(Address device, const void* host, std::size_t bytes) {
  const WorkTimer::Piece timed(timer_, in_, DeviceWork::in);
  gpu_.check(gpu_.driver().cuMemcpyHtoDAsync_v2(device, host, bytes, in_), "a copy to the device");
}

void Staging::put_out(void* host, Address device, std::size_t bytes) {
  const WorkTimer::Piece timed(timer_, out_, DeviceWork::out);
  gpu_.check(gpu_.driver().cuMemcpyDtoHAsync_v2(host, device, bytes, out_), "a copy to the host");
}

void Staging::stage_in(Address device, const char* host, std::size_t bytes) {
  retire_done(ring_in_);
  for (std::size_t done = 0; done < bytes;) {
    const std::size_t n = std::min(bytes - done, piece_bytes);
    const std::size_t at = take(ring_in_, n);
    std::memcpy(ring_in_.base + at, host + done, n);
    put_in(device + done, ring_in_.base + at, n);
    const Event event = gpu_.take_event();
    ring_in_.chunks.push_back({at, n, event, nullptr});
    gpu_.check(gpu_.driver().cuEventRecord(event, in_), "a copy to the device");
    done += n;
  }
}

void Staging::copy_in(Address device, const double* host, std::int64_t n) {
  const auto bytes = static_cast<std::size_t>(n);
  if (bytes == 0) return;
  complete(host, bytes);
  const Memory kind = kind_of(host, bytes);
  const auto direct = [&](const void* from) { put_in(device, from, bytes); };
  if (kind == Memory::pinned || (kind == Memory::pageable && (!ring_in_.base || n < staged_from_))) return direct(host);
  if (ring_in_.base) return stage_in(device, reinterpret_cast<const char*>(host), bytes);
  // Partly pinned memory is refused by the driver.
  const std::vector<double> aside(host, host + n / 8);
  direct(aside.data());
  gpu_.finish(in_, "a copy to the device");
}

void Staging::copy_out(double* host, Address device, std::int64_t bytes) {
  const auto all = static_cast<std::size_t>(bytes);
  if (all == 0) return;
  const Memory kind = kind_of(host, all);
  const auto direct = [&](void* to) { put_out(to, device, all); };
  if (kind == Memory::pinned) {
    complete(host, all);
    return direct(host);
  }
  if (!ring_out_.base) {
    if (kind == Memory::pageable) return direct(host);
    std::vector<double> aside(static_cast<std::size_t>(bytes / 8));
    direct(aside.data());
    gpu_.finish(out_, "a copy to the host");
    std::copy(aside.begin(), aside.end(), host);
    return;
  }
  deliver();
  for (std::size_t done = 0; done < all;) {
    const std::size_t n = std::min(all - done, piece_bytes);
    const std::size_t at = take(ring_out_, n);
    put_out(ring_out_.base + at, device + done, n);
    const Event event = gpu_.take_event();
    ring_out_.chunks.push_back({at, n, event, reinterpret_cast<char*>(host) + done});
    gpu_.check(gpu_.driver().cuEventRecord(event, out_), "a copy to the host");
    done += n;
  }
}

bool Staging::pin(const void* p, std::size_t bytes) {
  if (bytes == 0) return false;
  if (kind_of(p, bytes) == Memory::pinned) return true;
  complete(p, bytes);
  if (kind_of(p, bytes) != Memory::pageable ||
      gpu_.driver().cuMemHostRegister_v2(const_cast<void*>(p), bytes, host_register_portable) != Status::success) {
    ++pinned_.refused;
    return false;
  }
  regions_[static_cast<const char*>(p)] = bytes;
  ++pinned_.regions;
  pinned_.bytes += static_cast<std::int64_t>(bytes);
  return true;
}

void Staging::unpin(const void* p) noexcept {
  const auto found = regions_.find(static_cast<const char*>(p));
  if (found == regions_.end()) return;
  if (!gpu_.lost()) {
    gpu_.driver().cuStreamSynchronize(in_);
    gpu_.driver().cuStreamSynchronize(out_);
  }
  gpu_.driver().cuMemHostUnregister(const_cast<void*>(p));
  --pinned_.regions;
  pinned_.bytes -= static_cast<std::int64_t>(found->second);
  regions_.erase(found);
}

}  // namespace sial::cuda
