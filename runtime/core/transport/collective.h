#pragma once
// Shared by all transports for collectives: the record that travels with each one, the check that all ranks mean the
// same one, and the four operations expressed by one primitive, exchange(). A rank is in one collective at a time.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/core/base/error.h"
#include "runtime/core/transport/transport.h"

namespace sial {

enum class CollectiveOperation : std::int32_t { barrier = 1, sum = 2, broadcast = 3, gather = 4 };

/// One rank's part in a collective, as compared between ranks. Plain memory: sent as it is.
struct CollectiveRecord {
  std::int64_t sequence = 0;
  CollectiveKind kind = CollectiveKind::other;
  CollectiveOperation operation = CollectiveOperation::barrier;
  Place place;
  std::int32_t root = -1;  // broadcast
  std::int32_t padding = 0;
  std::int64_t bytes = 0;  // broadcast: size of the data; gather: size of this rank's part (may differ)
};

/// "a barrier"
std::string collective_name(CollectiveKind kind);
/// "a barrier (prog.sialx:12:3)"
std::string describe(const CollectiveRecord& record, const PlaceNamer& namer);
/// Whether both mean the same collective.
bool agree(const CollectiveRecord& a, const CollectiveRecord& b);
/// The error about two ranks (a < b) that are at different collectives.
SialError mismatch_error(int rank_a, const CollectiveRecord& a, int rank_b, const CollectiveRecord& b,
                         const PlaceNamer& namer);

/// Implements the collectives of Transport by exchange().
class ExchangeTransport : public Transport {
 public:
  void barrier(CollectiveTag tag) override;
  double sum(double value, CollectiveTag tag) override;
  void broadcast(std::span<std::byte> data, int root, CollectiveTag tag) override;
  std::vector<std::vector<std::byte>> all_gather(std::span<const std::byte> mine, CollectiveTag tag) override;
  void set_place_namer(PlaceNamer namer) override { namer_ = std::move(namer); }

 protected:
  using Parts = std::vector<std::vector<std::byte>>;
  /// Waits until all workers are in the collective and returns their parts in rank order, which stay until this rank's
  /// next collective. Throws the mismatch error.
  virtual const Parts& exchange(const CollectiveRecord& record, std::span<const std::byte> mine) = 0;
  /// The barrier that finish() is made of.
  void end_collective();
  const PlaceNamer& namer() const { return namer_; }

 private:
  const Parts& meet(CollectiveTag tag, CollectiveOperation operation, std::span<const std::byte> mine,
                    std::int64_t bytes = 0, int root = -1);

  std::int64_t sequence_ = 0;
  PlaceNamer namer_;
};

/// Meeting point of the ranks of one process. No locking of its own: the caller holds a lock, or is the only one that
/// runs.
class Rendezvous {
 public:
  explicit Rendezvous(int ranks) : ranks_(ranks) {}
  /// This rank's arrival; true when it was the last one. Throws the mismatch error.
  bool arrive(int rank, const CollectiveRecord& record, std::span<const std::byte> part, const PlaceNamer& namer);
  bool complete(std::int64_t sequence) const {
    return synchronizations_[sequence & 1].sequence == sequence && synchronizations_[sequence & 1].arrived == ranks_;
  }
  const std::vector<std::vector<std::byte>>& parts(std::int64_t sequence) const {
    return synchronizations_[sequence & 1].parts;
  }

 private:
  // Two suffice: nobody arrives at n + 2 before everybody has left n.
  struct Synchronization {
    std::int64_t sequence = -1;
    int arrived = 0, first_rank = -1;
    CollectiveRecord record;
    std::vector<std::vector<std::byte>> parts;
  };
  int ranks_;
  Synchronization synchronizations_[2];
};

}  // namespace sial
