#include "runtime/core/interp/job/saved_output.h"

#include <fcntl.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <future>
#include <optional>
#include <random>

#include <fmt/format.h>

#include "runtime/core/base/check.h"
#include "runtime/core/base/error.h"
#include "runtime/core/base/output_file.h"
#include "runtime/core/base/rows.h"
#include "runtime/core/checkpoint/pack.h"
#include "runtime/core/interp/blocks/array_parts.h"

namespace sial {
namespace {

constexpr std::size_t round_bytes = std::size_t{4} << 20;
using Mark = std::array<double, 2>;

/// Two hosts that write into one page of a file of such a system may undo each other's changes.
bool keeps_pages_of_hosts(int file) {
  struct statfs system{};
  if (::fstatfs(file, &system) != 0) return true;
  constexpr std::array<std::uint32_t, 5> kinds{0x6969 /* NFS */, 0x517B, 0xFE534D42, 0xFF534D42 /* SMB */,
                                               0x65735546 /* FUSE */};
  return std::find(kinds.begin(), kinds.end(), static_cast<std::uint32_t>(system.f_type)) != kinds.end();
}

/// Into the values of the array, which begin at `offset` of the file.
void write_part(const BoundArray& array, std::span<const SegmentGroup> part, std::span<const double> values, int file,
                std::int64_t offset) {
  std::array<std::int64_t, max_rank> extent{};
  std::int64_t begin = 0;
  for (int d = 0; d < array.rank; ++d) {
    extent[d] = part[d].extent;
    begin += part[d].offset * array.stride[d];
  }
  const auto rank = static_cast<std::size_t>(array.rank);
  for_rows(std::span(extent).first(rank), std::span(array.stride).first(rank),
           [&](std::int64_t to, std::int64_t from, std::int64_t n) {
             const auto row = values.subspan(static_cast<std::size_t>(from), static_cast<std::size_t>(n));
             if (const int error = write_at(file, offset + 8 * (begin + to), std::as_bytes(row)); error != 0)
               throw EnvironmentError(std::strerror(error));
           });
}

}  // namespace

/// The target of the values.
struct SavedOutput::Place {
  bool plain = false;
  ValuesInFile values;
  Mark mark{};
  std::string host;
  mutable Descriptor file;

  std::vector<std::byte> packed() const {
    Packer p;
    p.value(plain);
    p.text(values.path);
    p.value(values.offset);
    p.value(mark);
    p.text(host);
    const auto bytes = std::as_bytes(std::span(p.bytes()));
    return {bytes.begin(), bytes.end()};
  }
  void unpack(std::span<const std::byte> bytes) {
    Unpacker u(bytes);
    plain = u.value<bool>();
    values.path = u.text();
    values.offset = u.value<std::int64_t>();
    mark = u.value<Mark>();
    host = u.text();
  }
};

void SavedOutput::gather(const std::string& label, bool values, const BlockSink& on_rank_0) const {
  const std::vector<BlockIndex> mine = env_.store.snapshots().saved_blocks(label);
  std::size_t next = 0;
  for (bool more = true; more;) {
    Packer p;
    std::uint64_t n = 0;
    for (; next < mine.size() && p.bytes().size() < round_bytes; ++next, ++n) {
      p.value(mine[next]);
      if (values) p.values(env_.store.snapshots().saved_block(label, mine[next]));
    }
    p.value(n);
    p.value(next < mine.size());  // whether this rank has more
    const auto all = env_.transport.all_gather(std::as_bytes(std::span(p.bytes())), tag_);
    more = false;
    for (const std::vector<std::byte>& bytes : all) {
      const std::size_t tail = sizeof n + sizeof(bool);
      SIAL_CHECK(bytes.size() >= tail, "a message of {} bytes", bytes.size());
      Unpacker end(std::span<const std::byte>(bytes).last(tail));
      auto left = end.value<std::uint64_t>();
      more |= end.value<bool>();
      if (env_.transport.rank() != 0) continue;
      for (Unpacker u(bytes); left > 0; --left) {
        const auto block = u.value<BlockIndex>();
        on_rank_0(block, values ? u.values<double>() : std::vector<double>());
      }
    }
  }
}

std::vector<int> SavedOutput::writers(const Place& place, bool together) const {
  const bool is_first = env_.transport.rank() == 0;
  bool can = is_first;
  if (place.values.offset >= 0 && (together || is_first)) {
    place.file = Descriptor(::open(place.values.path.c_str(), O_RDWR | O_CLOEXEC));
    Mark mark{};
    if (!is_first)
      can = place.file.get() >= 0 && (host_ == place.host || !keeps_pages_of_hosts(place.file.get())) &&
            read_at(place.file.get(), place.values.offset, std::as_writable_bytes(std::span(mark))) &&
            mark == place.mark;
  }
  std::vector<int> ranks;
  int rank = 0;
  for (const auto& bytes : env_.transport.all_gather(std::as_bytes(std::span(&can, 1)), tag_)) {
    if (bytes.at(0) != std::byte{0}) ranks.push_back(rank);
    ++rank;
  }
  return ranks;
}

void SavedOutput::write_share(const std::string& label, const BoundArray& array, const Place& place, std::int64_t share,
                              std::int64_t shares) const {
  if (place.file.get() < 0) throw EnvironmentError(std::strerror(ENOENT));
  const ArrayParts parts(array, {}, bytes_of_parts(array, shares));
  std::array<std::vector<double>, 2> buffers;  // one is written while blocks are copied into the other
  std::future<void> writing;
  for (std::int64_t n = parts.count() * share / shares, end = parts.count() * (share + 1) / shares; n < end; ++n) {
    const std::vector<SegmentGroup> part = parts.part(n);
    std::vector<double>& buffer = buffers[static_cast<std::size_t>(n % 2)];
    buffer.resize(static_cast<std::size_t>(size_of(part)));
    bool any = n == 0;  // where the mark was; elsewhere there are zeros
    std::vector<double> zeros;
    walk_part(array, part, [&](const BlockAt& at) {
      if (at.size == 0) return;
      const std::optional<LeasedValues> held = env_.store.snapshots().find_saved_block(label, at.block);
      if (!held) {
        zeros.resize(static_cast<std::size_t>(at.size));
        return copy_to_part(array, at, part, zeros.data(), buffer.data());
      }
      SIAL_CHECK(std::ssize(held->values) == at.size, "a block of {} elements, {} expected", held->values.size(),
                 at.size);
      copy_to_part(array, at, part, held->values.data(), buffer.data());
      any = true;
    });
    env_.store.fetch().end_statement();
    if (writing.valid()) writing.get();
    if (!any || buffer.empty()) continue;
    const bool is_last = n + 1 == end;
    writing = std::async(
        is_last ? std::launch::deferred : std::launch::async | std::launch::deferred,
        [&array, &place, &buffer, part] { write_part(array, part, buffer, place.file.get(), place.values.offset); });
  }
  if (writing.valid()) writing.get();
  if (host_ != place.host && ::fdatasync(place.file.get()) != 0)
    throw EnvironmentError(std::strerror(errno));  // rank 0 cannot know
}

void SavedOutput::write(const std::string& label, const SavedLayout& layout, bool plain, ResultsWriter* writer) const {
  const BoundArray array = array_of(layout);
  std::vector<BlockIndex> blocks;
  std::int64_t present = 0;
  gather(label, false, [&](const BlockIndex& block, std::span<const double>) {
    blocks.push_back(block);
    present += block_size(layout, block);
  });
  // A small array is rank 0's alone: the others would look for the file for longer.
  const bool together = 8 * array.whole.size() >= min_part_bytes && env_.transport.size() > 1;
  Place place;
  std::string packed;
  if (writer) {
    place.plain = plain || array.whole.size() <= writer->dense_limit() || present >= array.whole.size() / 4;
    place.host = host_;
    writer->begin_saved(label, layout, place.plain);
    if (place.plain) {
      place.values = writer->values();
      std::random_device random;
      for (double& number : place.mark) number = 1.0 + random();
      if (together) writer->write_values(0, place.mark);
    }
    const std::vector<std::byte> bytes = place.packed();
    packed.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  env_.transport.broadcast_text(packed, 0, tag_);
  if (!writer) place.unpack(std::as_bytes(std::span(packed)));
  if (!place.plain) {
    gather(label, true,
           [&](const BlockIndex& block, std::span<const double> values) { writer->saved_block(block, values); });
    if (writer) writer->end_saved();
    return;
  }
  const std::vector<int> ranks = writers(place, together);
  std::string problem;
  try {
    const auto mine = std::find(ranks.begin(), ranks.end(), env_.transport.rank());
    if (mine != ranks.end() && array.whole.size() > 0)
      write_share(label, array, place, mine - ranks.begin(), std::ssize(ranks));
  } catch (const EnvironmentError& error) { problem = error.what(); }
  Packer p;
  p.text(problem);
  for (const auto& bytes : env_.transport.all_gather(std::as_bytes(std::span(p.bytes())), tag_))
    if (const std::string theirs = Unpacker(bytes).text(); problem.empty()) problem = theirs;
  if (!problem.empty()) {
    if (writer) writer->discard();
    throw EnvironmentError(
        fmt::format("cannot write the saved array \"{}\" to `{}`: {}", label, place.values.path, problem),
        "is the disk full, or the folder read-only?");
  }
  if (!writer) return;
  for (const BlockIndex& block : blocks) writer->has_block(block);
  writer->end_saved();
}

}  // namespace sial
