#include "runtime/core/transport/collective.h"

#include <cstring>

#include "runtime/core/base/check.h"

namespace sial {

std::string collective_name(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::barrier: return "a barrier";
    case CollectiveKind::sum: return "a `collective` sum";
    case CollectiveKind::broadcast: return "a broadcast";
    case CollectiveKind::gather: return "an exchange of data";
    case CollectiveKind::delete_array: return "the deletion of an array";
    case CollectiveKind::persist: return "saving or restoring a persistent item";
    case CollectiveKind::end_of_program: return "the end of the program";
    case CollectiveKind::other: return "a collective step";
    case CollectiveKind::end_of_job: return "the end of the job";
  }
  return "an unknown collective";
}

namespace {

std::string place_name(Place place, const PlaceNamer& namer) {
  if (place.pc < 0) return {};
  return namer ? namer(place) : fmt::format("program {}, pc {}", place.program, place.pc);
}

}  // namespace

std::string describe(const CollectiveRecord& record, const PlaceNamer& namer) {
  const std::string where = place_name(record.place, namer);
  const std::string name = collective_name(record.kind);
  return where.empty() ? name : fmt::format("{} ({})", name, where);
}

bool agree(const CollectiveRecord& a, const CollectiveRecord& b) {
  return a.sequence == b.sequence && a.kind == b.kind && a.operation == b.operation && a.place == b.place &&
         a.root == b.root && (a.operation == CollectiveOperation::gather || a.bytes == b.bytes);
}

SialError mismatch_error(int rank_a, const CollectiveRecord& a, int rank_b, const CollectiveRecord& b,
                         const PlaceNamer& namer) {
  std::string message =
      fmt::format("the workers disagree about the next collective: rank {} is at {}, rank {} is at {}", rank_a,
                  describe(a, namer), rank_b, describe(b, namer));
  if (a.operation == CollectiveOperation::broadcast && b.operation == CollectiveOperation::broadcast)
    message +=
        fmt::format(", with {} bytes from rank {} against {} bytes from rank {}", a.bytes, a.root, b.bytes, b.root);
  return SialError(
      message,
      "every worker must execute the same barriers and collective statements in the same order; look for conditions "
      "around them that differ between workers",
      place_name(a.place, namer));
}

const ExchangeTransport::Parts& ExchangeTransport::meet(CollectiveTag tag, CollectiveOperation operation,
                                                        std::span<const std::byte> mine, std::int64_t bytes, int root) {
  CollectiveRecord record;
  record.sequence = sequence_++;
  record.kind = tag.kind;
  record.operation = operation;
  record.place = tag.place;
  record.root = root;
  record.bytes = bytes;
  activity().set_collectives(sequence_);
  const Waiting waiting(activity(),
                        wait_for_collective(static_cast<std::int32_t>(tag.kind), tag.place, record.sequence));
  return exchange(record, mine);
}

void ExchangeTransport::barrier(CollectiveTag tag) { meet(tag, CollectiveOperation::barrier, {}); }

double ExchangeTransport::sum(double value, CollectiveTag tag) {
  const Parts& parts = meet(tag, CollectiveOperation::sum, std::as_bytes(std::span(&value, 1)), sizeof value);
  double total = 0;
  for (const auto& part : parts) {  // rank order, on every rank: the same bits everywhere
    double v = 0;
    std::memcpy(&v, part.data(), sizeof v);
    total += v;
  }
  return total;
}

void ExchangeTransport::broadcast(std::span<std::byte> data, int root, CollectiveTag tag) {
  SIAL_CHECK(root >= 0 && root < size(), "broadcast from rank {} of {}", root, size());
  const std::span<const std::byte> mine =
      rank() == root ? std::span<const std::byte>(data) : std::span<const std::byte>();
  const Parts& parts = meet(tag, CollectiveOperation::broadcast, mine, static_cast<std::int64_t>(data.size()), root);
  if (rank() != root && !data.empty())
    std::memcpy(data.data(), parts[static_cast<std::size_t>(root)].data(), data.size());
}

std::vector<std::vector<std::byte>> ExchangeTransport::all_gather(std::span<const std::byte> mine, CollectiveTag tag) {
  return meet(tag, CollectiveOperation::gather, mine, static_cast<std::int64_t>(mine.size()));
}

void ExchangeTransport::end_collective() {
  meet({CollectiveKind::end_of_job, Place{}}, CollectiveOperation::barrier, {});
}

bool Rendezvous::arrive(int rank, const CollectiveRecord& record, std::span<const std::byte> part,
                        const PlaceNamer& namer) {
  Synchronization& m = synchronizations_[record.sequence & 1];
  if (m.sequence != record.sequence) {
    m.sequence = record.sequence;
    m.arrived = 0;
    m.first_rank = rank;
    m.record = record;
    m.parts.assign(static_cast<std::size_t>(ranks_), {});
  } else if (!agree(m.record, record)) {
    if (m.first_rank < rank) throw mismatch_error(m.first_rank, m.record, rank, record, namer);
    throw mismatch_error(rank, record, m.first_rank, m.record, namer);
  }
  m.parts[static_cast<std::size_t>(rank)].assign(part.begin(), part.end());
  return ++m.arrived == ranks_;
}

}  // namespace sial
