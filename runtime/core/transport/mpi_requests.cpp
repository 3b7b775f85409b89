#include "runtime/core/transport/mpi_requests.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "runtime/core/base/check.h"
#include "runtime/core/base/error.h"

namespace sial {

constexpr std::size_t inline_bytes = 232;  // of a reply's header; longer ones need a second message

/// Begins the message tag_demand or tag_prefetch; the request's header follows. One that raises an earlier prefetch of
/// the same slot is a demand without header, and is not answered.
struct RequestEnvelope {
  std::int64_t payload_bytes = 0, payload_piece = 0, reply_capacity = 0, reply_piece = 0;
  std::int32_t slot = 0, raises = 0;
};
struct ReplyEnvelope {
  std::int64_t header_bytes = 0, payload_bytes = 0;
  std::byte header[inline_bytes];
};

namespace {

// Tags stay below 32767, the least upper bound MPI grants.
static_assert(MpiWorld::first_data_tag + 3 * RequestLimits::max_requests < 32767);
// Answers to prefetches that are on the wire at a time, for they can no longer yield to a demand: so many, or more
// small ones. One that its requester does not take, because it computes, is not on the wire and keeps back neither
// others nor its own.
constexpr std::size_t prefetches_on_wire = 2, prefetch_bytes_on_wire = 256 << 10;
constexpr std::chrono::microseconds longest_on_wire(500);
constexpr double slowest_wire = 0.5e9;       // bytes per second
constexpr std::size_t max_prefetches = 256;  // all of them are looked at whenever something is

int payload_tag(int slot) { return MpiWorld::first_data_tag + 3 * slot; }
int reply_tag(int slot) { return payload_tag(slot) + 1; }
int reply_payload_tag(int slot) { return payload_tag(slot) + 2; }

/// Calls f(pointer, bytes) for the pieces in which `bytes` travel; both sides cut alike.
template <class Byte, class F>
void for_pieces(Byte* data, std::size_t bytes, std::size_t piece, const F& f) {
  for (std::size_t at = 0; at < bytes; at += piece) f(data + at, static_cast<int>(std::min(piece, bytes - at)));
}

bool all_done(std::vector<MPI_Request>& requests) {
  int done = 1;
  if (!requests.empty())
    check_mpi(MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done, MPI_STATUSES_IGNORE),
              "exchanging blocks");
  return done != 0;
}

void receive(MpiWorld& w, std::span<std::byte> into, std::size_t piece, int from, int tag,
             std::vector<MPI_Request>& requests) {
  for_pieces(into.data(), into.size(), piece, [&](std::byte* p, int n) {
    requests.push_back(MPI_REQUEST_NULL);
    check_mpi(MPI_Irecv(p, n, MPI_BYTE, from, tag, w.requests, &requests.back()), "receiving a block");
  });
}

void send(MpiWorld& w, std::span<const std::byte> data, std::size_t piece, int to, int tag,
          std::vector<MPI_Request>& requests) {
  for_pieces(data.data(), data.size(), piece, [&](const std::byte* p, int n) {
    requests.push_back(MPI_REQUEST_NULL);
    check_mpi(MPI_Isend(p, n, MPI_BYTE, to, tag, w.requests, &requests.back()), "sending a block");
  });
}

}  // namespace

// ---- the owner's side

struct RequestServer::Job {
  int from = 0;
  RequestEnvelope envelope;
  std::vector<std::byte> header;
  std::span<std::byte> payload;
  Reply reply;
  ReplyEnvelope reply_envelope;
  bool served = false, prefetch = false;
  std::chrono::steady_clock::time_point off_wire;  // by then a reply should have arrived
  std::vector<MPI_Request> requests;
};

RequestServer::RequestServer(MpiWorld& world) : world_(world) {}
RequestServer::~RequestServer() = default;

void RequestServer::set_service(Service* service) {
  {
    const std::lock_guard lock(service_mutex_);
    service_ = service;
    if (service) return;
  }
  // The requester may have all of a reply before its owner knows. Its release reaches into the service as well.
  Backoff backoff;
  while (true) {
    {
      const std::lock_guard lock(service_mutex_);
      if (unreleased_ == 0) return;
    }
    try {
      world_.look_for_end();
    } catch (...) {  // in a destructor: the helper has ended, and its error is met again at the next wait
      return;
    }
    backoff.idle();
  }
}

void RequestServer::prepare(std::function<void()> f) {
  preparation_ = std::move(f);
  prepare_.store(true, std::memory_order_release);
  Backoff backoff;
  while (prepare_.load(std::memory_order_acquire)) {
    world_.look_for_end();
    backoff.idle();
  }
}

void RequestServer::run(const std::atomic<StopServing>& stop) {
  // A helper takes its core from a rank that computes, a server has one to itself.
  const bool server = world_.rank >= world_.layout->workers;
  thread_.store(std::this_thread::get_id(), std::memory_order_relaxed);
  Backoff backoff(std::chrono::microseconds(server ? 2000 : 25), std::chrono::microseconds(30),
                  std::chrono::microseconds(150));
  while (stop != StopServing::now) {
    if ((end_seen_ || stop == StopServing::when_drained) && jobs_.empty() && deferred_.empty() && waiting_.empty())
      return;
    if (prepare_.load(std::memory_order_acquire)) {
      preparation_();
      prepare_.store(false, std::memory_order_release);
    }
    bool busy = false;
    for (auto job = jobs_.begin(); job != jobs_.end();) {
      if (advance(*job)) {
        job = jobs_.erase(job);
        busy = true;
      } else {
        ++job;
      }
    }
    while (start_waiting()) busy = true;
    while (accept(MpiWorld::tag_demand)) busy = true;
    while (accept(MpiWorld::tag_prefetch)) busy = true;  // only put in line
    if (start_deferred()) busy = true;                   // one at a time: demand comes first
    if (accept(MpiWorld::tag_abort) || accept(MpiWorld::tag_end)) busy = true;
    if (busy) {
      backoff.reset();
    } else {
      backoff.idle();
    }
  }
}

void RequestServer::release_sent() {
  for (Job& job : jobs_) {
    if (!job.served || !job.reply.release || !all_done(job.requests)) continue;
    std::exchange(job.reply.release, nullptr)();
    --unreleased_;
  }
}

bool RequestServer::accept(int tag) {
  const bool request = tag == MpiWorld::tag_demand || tag == MpiWorld::tag_prefetch;
  if (request) {
    const std::lock_guard lock(service_mutex_);
    if (!service_) return false;  // waits at MPI's door
  }
  int found = 0;
  MPI_Message message;
  MPI_Status status;
  check_mpi(MPI_Improbe(MPI_ANY_SOURCE, tag, world_.requests, &found, &message, &status), "looking for requests");
  if (!found) return false;
  int bytes = 0;
  MPI_Get_count(&status, MPI_BYTE, &bytes);
  std::vector<std::byte> data(static_cast<std::size_t>(bytes));
  check_mpi(MPI_Mrecv(data.data(), bytes, MPI_BYTE, &message, MPI_STATUS_IGNORE), "receiving a request");
  if (tag == MpiWorld::tag_end) {
    end_seen_ = true;
  } else if (tag == MpiWorld::tag_abort) {
    int exit_code = 0;
    std::memcpy(&exit_code, data.data(), sizeof exit_code);
    world_.abort_for_other_host(
        std::string(reinterpret_cast<const char*>(data.data()) + sizeof exit_code, data.size() - sizeof exit_code),
        exit_code);
  } else {
    auto& line = tag == MpiWorld::tag_demand ? jobs_ : deferred_;
    Job& job = line.emplace_back();
    job.from = status.MPI_SOURCE;
    std::memcpy(&job.envelope, data.data(), sizeof job.envelope);
    job.header.assign(data.begin() + sizeof job.envelope, data.end());
    job.prefetch = tag == MpiWorld::tag_prefetch;
    if (job.prefetch) return true;
    if (job.envelope.raises) {
      const int from = job.from, slot = job.envelope.slot;
      jobs_.pop_back();
      raise(from, slot);
      return true;
    }
    if (has_room(job)) begin(std::prev(jobs_.end()));
    else waiting_.splice(waiting_.end(), jobs_, std::prev(jobs_.end()));
  }
  return true;
}

/// One payload of any size always has; those that came before go first.
bool RequestServer::has_room(const Job& job) const {
  return job.envelope.payload_bytes == 0 || arriving_ == 0 ||
         (waiting_.empty() && arriving_ + static_cast<std::size_t>(job.envelope.payload_bytes) <= RequestLimits::bytes);
}

bool RequestServer::start_waiting() {
  if (waiting_.empty()) return false;
  const auto bytes = static_cast<std::size_t>(waiting_.front().envelope.payload_bytes);
  if (arriving_ > 0 && arriving_ + bytes > RequestLimits::bytes) return false;
  {
    const std::lock_guard lock(service_mutex_);
    if (!service_) return false;
  }
  jobs_.splice(jobs_.end(), waiting_, waiting_.begin());
  begin(std::prev(jobs_.end()));
  return true;
}

/// The request that it raises came before it; if it is no longer in line it has been answered.
void RequestServer::raise(int from, int slot) {
  while (accept(MpiWorld::tag_prefetch)) {}
  const auto which = [&](const Job& job) { return job.from == from && job.envelope.slot == slot; };
  const auto at = std::find_if(deferred_.begin(), deferred_.end(), which);
  if (at == deferred_.end()) return;
  at->prefetch = false;
  jobs_.splice(jobs_.end(), deferred_, at);
  begin(std::prev(jobs_.end()));
}

bool RequestServer::start_deferred() {
  if (deferred_.empty()) return false;
  const auto now = std::chrono::steady_clock::now();
  std::size_t all = 0, on_wire = 0, bytes = 0;
  for (const Job& job : jobs_) {
    if (!job.prefetch) continue;
    ++all;
    if (job.off_wire <= now) continue;
    ++on_wire;
    bytes += job.reply.payload.size();
  }
  if (all >= max_prefetches || (on_wire >= prefetches_on_wire && bytes >= prefetch_bytes_on_wire)) return false;
  {
    const std::lock_guard lock(service_mutex_);
    if (!service_) return false;
  }
  jobs_.splice(jobs_.end(), deferred_, deferred_.begin());
  begin(std::prev(jobs_.end()));
  return true;
}

/// Gets the payload on its way, or serves at once; the job is gone when all is done.
void RequestServer::begin(std::list<Job>::iterator at) {
  Job& job = *at;
  if (job.envelope.payload_bytes > 0) {
    const auto size = static_cast<std::size_t>(job.envelope.payload_bytes);
    arriving_ += size;
    {
      const std::lock_guard lock(service_mutex_);
      job.payload = service_->payload_buffer(job.from, job.header, size);
    }
    SIAL_CHECK(job.payload.size() >= size, "payload buffer of {} bytes for {}", job.payload.size(), size);
    job.payload = job.payload.first(size);
    receive(world_, job.payload, static_cast<std::size_t>(job.envelope.payload_piece), job.from,
            payload_tag(job.envelope.slot), job.requests);
  }
  if (advance(job)) jobs_.erase(at);
}

bool RequestServer::advance(Job& job) {
  if (!all_done(job.requests)) return false;
  if (!job.served) {
    start_serving(job);
    if (!all_done(job.requests)) return false;
  }
  if (job.reply.release) {
    const std::lock_guard lock(service_mutex_);
    job.reply.release();
    --unreleased_;
  }
  return true;
}

void RequestServer::start_serving(Job& job) {
  {
    const std::lock_guard lock(service_mutex_);
    SIAL_CHECK(service_ != nullptr, "the service went away while rank {} was sending", job.from);
    job.reply = service_->serve(job.from, job.header, job.payload);
    if (job.reply.release) ++unreleased_;
  }
  job.served = true;
  arriving_ -= static_cast<std::size_t>(job.envelope.payload_bytes);
  job.requests.clear();
  const Reply& reply = job.reply;
  const std::chrono::duration<double> travel(static_cast<double>(reply.payload.size()) / slowest_wire);
  job.off_wire = std::chrono::steady_clock::now() + longest_on_wire +
                 std::chrono::duration_cast<std::chrono::microseconds>(travel);
  SIAL_CHECK(static_cast<std::int64_t>(reply.payload.size()) <= job.envelope.reply_capacity,
             "reply of {} bytes into a buffer of {}", reply.payload.size(), job.envelope.reply_capacity);
  job.reply_envelope.header_bytes = static_cast<std::int64_t>(reply.header.size());
  job.reply_envelope.payload_bytes = static_cast<std::int64_t>(reply.payload.size());
  std::memcpy(job.reply_envelope.header, reply.header.data(), std::min(inline_bytes, reply.header.size()));
  send(world_, std::as_bytes(std::span(&job.reply_envelope, 1)), world_.options.message_bytes, job.from,
       reply_tag(job.envelope.slot), job.requests);
  if (reply.header.size() > inline_bytes)
    send(world_, std::span(reply.header).subspan(inline_bytes), world_.options.message_bytes, job.from,
         reply_tag(job.envelope.slot), job.requests);
  // Sends as many pieces as the requester has posted receives for, the last ones perhaps short or empty.
  std::size_t at = 0;
  for_pieces(static_cast<const std::byte*>(nullptr), static_cast<std::size_t>(job.envelope.reply_capacity),
             static_cast<std::size_t>(job.envelope.reply_piece), [&](const std::byte*, int room) {
               const std::size_t n = std::min(static_cast<std::size_t>(room), reply.payload.size() - at);
               job.requests.push_back(MPI_REQUEST_NULL);
               check_mpi(MPI_Isend(reply.payload.data() + at, static_cast<int>(n), MPI_BYTE, job.from,
                                   reply_payload_tag(job.envelope.slot), world_.requests, &job.requests.back()),
                         "sending a block");
               at += n;
             });
}

// ---- the requester's side

struct RequestClient::Flight {
  int to = 0, slot = 0;
  std::vector<std::byte> envelope;
  ReplyEnvelope reply_envelope;
  std::vector<std::byte> reply_header;
  std::vector<MPI_Request> requests;
  bool header_complete = false, landed = false, prefetch = false;
  RequestEnvelope raising;
  std::size_t bytes_out = 0;
  Payload payload;
  std::size_t piece = 0, sent = 0;  // of the payload
  std::size_t next_piece = 0, pieces_end = 0,
              received =
                  0;  // of the reply's: those not seen to have come yet, among `requests`, and bytes of the others
  std::chrono::steady_clock::time_point issued;
};

class MpiPendingRequest final : public PendingRequest {
 public:
  MpiPendingRequest(RequestClient& client, std::unique_ptr<RequestClient::Flight> flight)
      : client_(client), flight_(std::move(flight)) {}
  ~MpiPendingRequest() override {
    Backoff backoff;
    while (!flight_->landed) {
      try {
        if (test()) break;
      } catch (...) {  // the job is ending with an error: MPI may still write to this flight's buffers, so it is left
                       // to the process
        client_.growing_.remove(flight_.get());
        static_cast<void>(flight_.release());
        return;
      }
      backoff.idle();
    }
  }
  bool test() override;
  void wait() override {
    if (test()) return;
    std::optional<Waiting> waiting;  // unless it is known better what for
    if (!client_.activity_.waits()) waiting.emplace(client_.activity_, wait_for_reply(flight_->to));
    Backoff backoff;
    while (!test()) backoff.idle();
  }
  std::span<const std::byte> reply_header() const override { return flight_->reply_header; }
  std::size_t reply_bytes() const override { return static_cast<std::size_t>(flight_->reply_envelope.payload_bytes); }
  std::size_t received() override;
  void raise() override;

 private:
  friend class RequestClient;
  static bool land(RequestClient& client, RequestClient::Flight& flight);

  RequestClient& client_;
  std::unique_ptr<RequestClient::Flight> flight_;
};

/// Moves the flight on; true when everything has arrived. Gives its slot back then.
bool MpiPendingRequest::land(RequestClient& client, RequestClient::Flight& f) {
  if (f.landed) return true;
  if (f.sent < f.payload.bytes.size() || !all_done(f.requests)) return false;
  if (!f.header_complete) {
    f.header_complete = true;
    f.requests.clear();
    const auto size = static_cast<std::size_t>(f.reply_envelope.header_bytes);
    f.reply_header.resize(size);
    std::memcpy(f.reply_header.data(), f.reply_envelope.header, std::min(size, inline_bytes));
    if (size > inline_bytes) {
      receive(client.world_, std::span(f.reply_header).subspan(inline_bytes), client.world_.options.message_bytes, f.to,
              reply_tag(f.slot), f.requests);
      if (!all_done(f.requests)) return false;
    }
  }
  f.landed = true;
  client.free_slots_.push_back(f.slot);
  if (!f.payload.bytes.empty()) {
    RequestClient::UnderWay& under_way = client.to_owner_[static_cast<std::size_t>(f.to)];
    --under_way.payloads;
    under_way.bytes -= f.payload.bytes.size();
  }
  client.flights_.remove(&f);
  return true;
}

bool MpiPendingRequest::test() {
  client_.world_.look_for_end();
  client_.send_more();
  if (!land(client_, *flight_)) return false;
  const auto& network = client_.world_.options.network;
  if (!network) return true;
  double seconds = 2 * network->latency;
  if (network->bandwidth > 0) seconds += static_cast<double>(flight_->bytes_out + reply_bytes()) / network->bandwidth;
  return std::chrono::steady_clock::now() - flight_->issued >= std::chrono::duration<double>(seconds);
}

/// Pieces come in the order in which they were sent. A network that is simulated has let through only part of them.
std::size_t MpiPendingRequest::received() {
  RequestClient::Flight& f = *flight_;
  for (int done = 1; !f.header_complete && f.next_piece < f.pieces_end;) {
    MPI_Status status;
    check_mpi(MPI_Test(&f.requests[f.next_piece], &done, &status), "exchanging blocks");
    if (!done) break;
    int bytes = 0;
    MPI_Get_count(&status, MPI_BYTE, &bytes);
    f.received += static_cast<std::size_t>(bytes);
    ++f.next_piece;
  }
  const std::size_t come = f.header_complete ? reply_bytes() : f.received;
  const auto& network = client_.world_.options.network;
  if (!network) return come;
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - f.issued).count() - 2 * network->latency;
  if (seconds <= 0) return 0;
  if (!(network->bandwidth > 0)) return come;
  const double through = seconds * network->bandwidth - static_cast<double>(f.bytes_out);
  return through >= static_cast<double>(come) ? come : static_cast<std::size_t>(std::max(0.0, through));
}

void MpiPendingRequest::raise() {
  RequestClient::Flight& f = *flight_;
  if (!f.prefetch || f.header_complete || f.landed) return;
  f.prefetch = false;
  f.raising.slot = f.slot;
  f.raising.raises = 1;
  f.requests.push_back(MPI_REQUEST_NULL);
  check_mpi(MPI_Isend(&f.raising, sizeof f.raising, MPI_BYTE, f.to, MpiWorld::tag_demand, client_.world_.requests,
                      &f.requests.back()),
            "raising a request");
}

RequestClient::RequestClient(MpiWorld& world, RankActivity& activity)
    : world_(world),
      activity_(activity),
      limits_(world.layout->total()),
      to_owner_(static_cast<std::size_t>(world.layout->total())) {
  for (int s = 0; s < limits_.requests_of_rank; ++s) free_slots_.push_back(s);
}

/// A message is received by whoever calls MPI. The helper thread does, when it finds a core; a rank that computes for
/// long without a look keeps blocks waiting at its door that it could have.
void RequestClient::progress() {
  if (flights_.empty()) return;
  const auto now = std::chrono::steady_clock::now();
  if (now < next_look_) return;
  send_more();
  bool any = false;
  for (auto at = flights_.begin(); at != flights_.end();) {
    Flight* f = *at++;  // landing takes it out
    if (!MpiPendingRequest::land(*this, *f)) break;
    any = true;
  }
  // Not often in vain: it takes time, and where MPI is told to yield the core as well.
  look_after_ = any ? soonest_look : std::min(2 * look_after_, latest_look);
  next_look_ = now + look_after_;
}

void RequestClient::send_more() {
  for (auto at = growing_.begin(); at != growing_.end();) at = send_more(**at) ? growing_.erase(at) : std::next(at);
}

/// True when all of it is on its way.
bool RequestClient::send_more(Flight& f) {
  const std::size_t all = f.payload.bytes.size();
  if (f.sent == all) return true;
  const std::size_t there = f.payload.growing->ready();
  while (f.sent < all) {
    const std::size_t n = std::min(f.piece, all - f.sent);
    if (f.sent + n > there) return false;
    send(world_, f.payload.bytes.subspan(f.sent, n), f.piece, f.to, payload_tag(f.slot), f.requests);
    f.sent += n;
  }
  return true;
}

void RequestClient::land_all() {
  world_.look_for_end();
  send_more();
  const auto all = flights_;
  for (Flight* f : all) MpiPendingRequest::land(*this, *f);
}

void RequestClient::wait_for_room(int to, std::size_t bytes) {
  if (bytes == 0) return;
  const UnderWay& under_way = to_owner_[static_cast<std::size_t>(to)];
  const auto full = [&] {
    return under_way.payloads >= limits_.payloads_to_owner ||
           (under_way.payloads > 0 && under_way.bytes + bytes > limits_.bytes_to_owner);
  };
  if (!full()) return;
  std::optional<Waiting> waiting;
  if (!activity_.waits()) waiting.emplace(activity_, wait_for_reply(to));
  for (Backoff backoff; full(); backoff.idle()) land_all();
}

int RequestClient::take_slot() {
  Backoff backoff;
  while (free_slots_.empty()) {
    land_all();
    backoff.idle();
  }
  const int slot = free_slots_.front();  // the one unused for longest
  free_slots_.pop_front();
  return slot;
}

std::unique_ptr<PendingRequest> RequestClient::request(int to, std::span<const std::byte> header, Payload payload,
                                                       ReplyBuffer reply_buffer, Priority priority) {
  world_.look_for_end();
  auto flight = std::make_unique<Flight>();
  Flight& f = *flight;
  f.to = to;
  wait_for_room(to, payload.bytes.size());
  f.slot = take_slot();
  f.prefetch = priority == Priority::prefetch;
  f.bytes_out = header.size() + payload.bytes.size();
  f.issued = std::chrono::steady_clock::now();
  f.payload = payload;
  f.piece =
      payload.growing ? std::min(payload.growing->piece(), world_.options.message_bytes) : world_.options.message_bytes;
  RequestEnvelope envelope;
  envelope.payload_bytes = static_cast<std::int64_t>(payload.bytes.size());
  envelope.payload_piece = static_cast<std::int64_t>(f.piece);
  const std::size_t reply_piece = reply_buffer.piece > 0 ? std::min(reply_buffer.piece, world_.options.message_bytes)
                                                         : world_.options.message_bytes;
  envelope.reply_capacity = static_cast<std::int64_t>(reply_buffer.bytes.size());
  envelope.reply_piece = static_cast<std::int64_t>(reply_piece);
  envelope.slot = f.slot;
  f.envelope.resize(sizeof envelope + header.size());
  std::memcpy(f.envelope.data(), &envelope, sizeof envelope);
  if (!header.empty()) std::memcpy(f.envelope.data() + sizeof envelope, header.data(), header.size());
  f.requests.push_back(MPI_REQUEST_NULL);
  check_mpi(MPI_Irecv(&f.reply_envelope, sizeof f.reply_envelope, MPI_BYTE, to, reply_tag(f.slot), world_.requests,
                      &f.requests.back()),
            "preparing for a reply");
  f.next_piece = f.requests.size();
  receive(world_, reply_buffer.bytes, reply_piece, to, reply_payload_tag(f.slot), f.requests);
  f.pieces_end = f.requests.size();
  f.requests.push_back(MPI_REQUEST_NULL);
  check_mpi(MPI_Isend(f.envelope.data(), static_cast<int>(f.envelope.size()), MPI_BYTE, to,
                      priority == Priority::demand ? MpiWorld::tag_demand : MpiWorld::tag_prefetch, world_.requests,
                      &f.requests.back()),
            "sending a request");
  flights_.push_back(&f);
  if (!payload.bytes.empty()) {
    ++to_owner_[static_cast<std::size_t>(to)].payloads;
    to_owner_[static_cast<std::size_t>(to)].bytes += payload.bytes.size();
  }
  auto pending = std::make_unique<MpiPendingRequest>(*this, std::move(flight));
  if (payload.growing) {
    growing_.push_back(&f);
    send_more();
  } else {
    send(world_, payload.bytes, f.piece, to, payload_tag(f.slot), f.requests);
    f.sent = payload.bytes.size();
  }
  return pending;
}

void RequestClient::send_end() {
  for (int s = world_.layout->workers; s < world_.layout->total(); ++s)
    check_mpi(MPI_Send(nullptr, 0, MPI_BYTE, s, MpiWorld::tag_end, world_.requests), "ending the servers");
}

}  // namespace sial
