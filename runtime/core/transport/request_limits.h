#pragma once
// The memory of a rank for all that send to it, however many they are.

#include <algorithm>
#include <cstddef>

namespace sial {

/// A rank that sends waits while its part of this is under way. Payloads for which the owner has no room yet wait at
/// their senders, but for those so small that MPI sends them unasked; these are bounded by their number.
struct RequestLimits {
  /// Limits of all senders to one owner: requests, those of them with a payload, bytes of payloads with a buffer.
  static constexpr int requests = 1 << 16, payloads = 1 << 10;
  static constexpr std::size_t bytes = std::size_t{64} << 20;
  /// Limits of one sender, whatever their number.
  static constexpr int max_requests = 1 << 12, max_payloads = 1 << 6, min_payloads = 2;

  explicit RequestLimits(int ranks)
      : requests_of_rank(std::clamp(requests / ranks, max_payloads, max_requests)),
        payloads_to_owner(std::clamp(payloads / ranks, min_payloads, max_payloads)),
        bytes_to_owner(bytes / static_cast<std::size_t>(ranks)) {}

  int requests_of_rank;        // to all owners
  int payloads_to_owner;       // requests with a payload, of a rank to an owner
  std::size_t bytes_to_owner;  // of these payloads, beside one of any size
};

}  // namespace sial
