#pragma once
// A request in the simulator and its reply: from when it is posted the owner's, answered or not, from `arrival` of the
// reply the requester's again. Only the actor that runs looks at it.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "runtime/core/transport/transport.h"

namespace sial {

struct SimulatedMessage {
  int from = 0, to = 0;
  Priority priority = Priority::demand;
  std::int64_t number = 0;
  double arrival = 0;  // of the request at the owner, later of the reply at the requester
  double raised = std::numeric_limits<double>::infinity();  // when the owner hears that it is a demand after all
  bool answered = false, delivered = false, cancelled = false;
  bool moves_data = true;  // else the payload of the reply takes its time only
  std::vector<std::byte> header;
  std::span<const std::byte> payload;
  ReplyBuffer reply_buffer;
  Reply reply;
  std::size_t reply_bytes = 0;

  /// Bytes of the reply's payload that have come to their buffer, in whole pieces, where somebody wants it in pieces.
  /// The last one comes at `arrival`, those before it at the link's speed.
  std::size_t received(double now, double bandwidth) {
    if (delivered) return reply_bytes;
    if (reply_buffer.piece == 0 || !answered || cancelled) return copied_;
    const std::size_t all = reply.payload.size();
    const double missing = std::max(0.0, arrival - now) * bandwidth;
    if (missing < static_cast<double>(all))
      copy_up_to((all - static_cast<std::size_t>(std::ceil(missing))) / reply_buffer.piece * reply_buffer.piece);
    return copied_;
  }
  /// All of it has.
  void deliver() {
    if (!cancelled) copy_up_to(reply.payload.size());
    reply_bytes = reply.payload.size();
    delivered = true;
  }
  /// Nobody touches the buffers any more.
  void cancel() {
    cancelled = true;
    payload = {};
    reply_buffer = {};
  }

 private:
  void copy_up_to(std::size_t bytes) {
    if (bytes <= copied_) return;
    if (moves_data) std::memcpy(reply_buffer.bytes.data() + copied_, reply.payload.data() + copied_, bytes - copied_);
    copied_ = bytes;
  }
  std::size_t copied_ = 0;
};

}  // namespace sial
