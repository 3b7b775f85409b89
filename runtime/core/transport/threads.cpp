#include "runtime/core/transport/threads.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <exception>
#include <limits>
#include <mutex>
#include <thread>

#include "runtime/core/base/check.h"
#include "runtime/core/transport/collective.h"
#include "runtime/core/transport/threads_remote_memory.h"

namespace sial {

namespace {

struct ThreadMessage {
  int from = 0;
  std::vector<std::byte> header;
  std::span<const std::byte> payload;
  std::span<std::byte> reply_buffer;
  std::vector<std::byte> reply_header;
  std::size_t reply_bytes = 0;
  enum class State { waiting, serving, done, cancelled };
  std::atomic<State> state{State::waiting};
};
using ThreadMessagePtr = std::shared_ptr<ThreadMessage>;

/// One rank's requests, and the helper thread that serves them.
struct Mailbox {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<ThreadMessagePtr> demand, prefetch;
  Service* service = nullptr;
  bool closed = false, serving = false;
  std::thread helper;
};

struct ThreadsJob {
  explicit ThreadsJob(const ThreadsOptions& options)
      : layout(options.ranks, options.ranks_per_node, options.servers),
        rendezvous(options.ranks),
        remote_memory(options.ranks, layout.total()),
        unfinished_workers(options.ranks) {
    for (const auto& ranks : layout.ranks)
      memories.push_back(
          std::make_unique<NodeMemories>(static_cast<int>(ranks.size()), std::numeric_limits<std::size_t>::max()));
    for (int r = 0; r < layout.total(); ++r) mailboxes.push_back(std::make_unique<Mailbox>());
  }

  void fail(std::exception_ptr e) {
    const std::lock_guard lock(mutex);
    if (!error) error = e;
    ending = true;
    changed.notify_all();
  }
  void leave_if_ending() const {
    if (ending.load(std::memory_order_relaxed)) throw JobEnding{};
  }
  void serve(int rank);

  NodeLayout layout;
  std::mutex mutex;  // of everything down to `error`
  std::condition_variable changed;
  Rendezvous rendezvous;
  ThreadsRemoteTransfers remote_memory;  // has a lock of its own
  std::vector<std::unique_ptr<NodeMemories>> memories;
  int unfinished_workers;
  std::exception_ptr error;
  std::atomic<bool> ending{false};
  std::vector<std::unique_ptr<Mailbox>> mailboxes;
  const std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
};

void ThreadsJob::serve(int rank) {
  Mailbox& box = *mailboxes[static_cast<std::size_t>(rank)];
  while (true) {
    ThreadMessagePtr m;
    Service* service = nullptr;
    {
      std::unique_lock lock(box.mutex);
      box.changed.wait(lock,
                       [&] { return box.closed || (box.service && !(box.demand.empty() && box.prefetch.empty())); });
      if (box.closed) return;
      auto& queue = box.demand.empty() ? box.prefetch : box.demand;
      m = std::move(queue.front());
      queue.pop_front();
      service = box.service;
      box.serving = true;
    }
    // Whatever happens, nobody must wait for this message for ever.
    struct Serving {
      ~Serving() {
        if (started) message.state.store(ThreadMessage::State::done, std::memory_order_release);
        const std::lock_guard lock(box.mutex);
        box.serving = false;
        box.changed.notify_all();
      }
      Mailbox& box;
      ThreadMessage& message;
      bool started;
    };
    auto expected = ThreadMessage::State::waiting;
    const Serving serving{box, *m, m->state.compare_exchange_strong(expected, ThreadMessage::State::serving)};
    if (!serving.started) continue;
    std::span<std::byte> buffer;
    if (!m->payload.empty()) {
      buffer = service->payload_buffer(m->from, m->header, m->payload.size());
      SIAL_CHECK(buffer.size() >= m->payload.size(), "payload buffer of {} bytes for {}", buffer.size(),
                 m->payload.size());
      buffer = buffer.first(m->payload.size());
      std::memcpy(buffer.data(), m->payload.data(), m->payload.size());
    }
    Reply reply = service->serve(m->from, m->header, buffer);
    SIAL_CHECK(reply.payload.size() <= m->reply_buffer.size(), "reply of {} bytes into a buffer of {}",
               reply.payload.size(), m->reply_buffer.size());
    if (!reply.payload.empty()) std::memcpy(m->reply_buffer.data(), reply.payload.data(), reply.payload.size());
    m->reply_bytes = reply.payload.size();
    m->reply_header = std::move(reply.header);
    m->state.store(ThreadMessage::State::done, std::memory_order_release);
    if (reply.release) reply.release();
  }
}

class ThreadRequest final : public PendingRequest {
 public:
  ThreadRequest(ThreadsJob& job, Mailbox& box, ThreadMessagePtr message, const std::function<void()>& while_waiting)
      : job_(job), box_(box), message_(std::move(message)), while_waiting_(while_waiting) {}
  ~ThreadRequest() override {
    while (!arrived()) {
      auto expected =
          ThreadMessage::State::waiting;  // while the job ends, a message that nobody serves yet stays unserved
      if (job_.ending && message_->state.compare_exchange_strong(expected, ThreadMessage::State::cancelled)) return;
      std::this_thread::yield();
    }
  }
  bool test() override {
    job_.leave_if_ending();
    if (arrived()) return true;
    if (while_waiting_) while_waiting_();
    return false;
  }
  void wait() override {
    while (!test()) std::this_thread::yield();
  }
  std::span<const std::byte> reply_header() const override { return message_->reply_header; }
  std::size_t reply_bytes() const override { return message_->reply_bytes; }
  void raise() override {
    const std::lock_guard lock(box_.mutex);
    const auto at = std::find(box_.prefetch.begin(), box_.prefetch.end(), message_);
    if (at == box_.prefetch.end()) return;
    box_.prefetch.erase(at);
    box_.demand.push_back(message_);
  }

 private:
  bool arrived() const { return message_->state.load(std::memory_order_acquire) == ThreadMessage::State::done; }
  ThreadsJob& job_;
  Mailbox& box_;
  ThreadMessagePtr message_;
  const std::function<void()>& while_waiting_;  // the transport's
};

class ThreadTransport final : public ExchangeTransport {
 public:
  ThreadTransport(ThreadsJob& job, int rank) : job_(job), rank_(rank) {}

  int rank() const override { return rank_; }
  int size() const override { return job_.layout.workers; }
  NodeId node() const override { return job_.layout.node_of[static_cast<std::size_t>(rank_)]; }
  int node_count() const override { return static_cast<int>(job_.layout.ranks.size()); }
  const std::vector<int>& ranks_of_node(NodeId node) const override { return job_.layout.ranks[node.at()]; }
  const std::vector<NodeId>& home_nodes() const override { return job_.layout.home_nodes; }
  bool is_server() const override { return rank_ >= size(); }

  std::shared_ptr<NodeMemory> map_node_memory(std::size_t bytes, const std::string& purpose) override {
    job_.leave_if_ending();
    const std::lock_guard lock(job_.mutex);
    return job_.memories[node().at()]->map(bytes, purpose);
  }

  void set_service(Service* service) override {
    Mailbox& box = *job_.mailboxes[static_cast<std::size_t>(rank_)];
    std::unique_lock lock(box.mutex);
    box.service = service;
    box.changed.notify_all();
    if (!service) box.changed.wait(lock, [&] { return !box.serving; });
  }

  std::unique_ptr<PendingRequest> request(int to, std::span<const std::byte> header, Payload payload,
                                          ReplyBuffer reply_buffer, Priority priority) override {
    SIAL_CHECK(node_count() > 1, "request to rank {} on a single node", to);
    SIAL_CHECK(to >= 0 && to < job_.layout.total(), "request to rank {}", to);
    job_.leave_if_ending();
    auto m = std::make_shared<ThreadMessage>();
    m->from = rank_;
    m->header.assign(header.begin(), header.end());
    if (payload.growing) payload.growing->complete();
    m->payload = payload.bytes;
    m->reply_buffer = reply_buffer.bytes;
    Mailbox& box = *job_.mailboxes[static_cast<std::size_t>(to)];
    {
      const std::lock_guard lock(box.mutex);
      (priority == Priority::demand ? box.demand : box.prefetch).push_back(m);
    }
    box.changed.notify_one();
    return std::make_unique<ThreadRequest>(job_, box, std::move(m), while_waiting_);
  }

  std::unique_ptr<RemoteMemory> open_remote_memory(MemoryProvider& provider) override {
    return job_.remote_memory.open(rank_, provider, [&job = job_] { return job.ending.load(); });
  }

  void serve_forever() override {
    SIAL_CHECK(is_server(), "rank {} is no server", rank_);
    std::unique_lock lock(job_.mutex);
    job_.changed.wait(lock, [&] { return job_.unfinished_workers == 0 || job_.ending; });
    job_.leave_if_ending();
  }

  void finish() override {
    if (finished_) return;
    end_collective();
    finished_ = true;
    const std::lock_guard lock(job_.mutex);
    --job_.unfinished_workers;
    job_.changed.notify_all();
  }

  bool in_helper() const override { return std::this_thread::get_id() != rank_thread_; }

  void set_while_waiting(std::function<void()> f) override { while_waiting_ = std::move(f); }
  void pause() override {
    job_.leave_if_ending();
    if (std::this_thread::get_id() == rank_thread_ && while_waiting_) while_waiting_();
    std::this_thread::yield();
  }
  double now() const override {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - job_.start).count();
  }
  [[noreturn]] void abort_job(const std::string& message, int exit_code) override {
    throw JobAborted(message, exit_code);
  }

 protected:
  const Parts& exchange(const CollectiveRecord& record, std::span<const std::byte> mine) override {
    SIAL_CHECK(!is_server(), "collective of server {}", rank_);
    job_.leave_if_ending();
    std::unique_lock lock(job_.mutex);
    if (job_.rendezvous.arrive(rank_, record, mine, namer())) job_.changed.notify_all();
    while (!job_.changed.wait_for(lock, std::chrono::milliseconds(1),
                                  [&] { return job_.rendezvous.complete(record.sequence) || job_.ending; }))
      if (while_waiting_) while_waiting_();
    job_.leave_if_ending();
    return job_.rendezvous.parts(record.sequence);
  }

 private:
  ThreadsJob& job_;
  int rank_;
  std::function<void()> while_waiting_;
  const std::thread::id rank_thread_ = std::this_thread::get_id();
  bool finished_ = false;
};

}  // namespace

void run_threads(const ThreadsOptions& options, const std::function<void(Transport&)>& rank_main) {
  ThreadsJob job(options);
  const int total = job.layout.total();
  const auto guarded = [&job](const std::function<void()>& body) {
    try {
      body();
    } catch (const JobEnding&) {
    } catch (...) { job.fail(std::current_exception()); }
  };
  std::vector<std::thread> ranks;
  for (int r = 0; r < total; ++r) {
    if (job.layout.ranks.size() > 1)
      job.mailboxes[static_cast<std::size_t>(r)]->helper =
          std::thread([&job, &guarded, r] { guarded([&] { job.serve(r); }); });
    ranks.emplace_back([&, r] {
      guarded([&] {
        ThreadTransport transport(job, r);
        rank_main(transport);
        if (!transport.is_server()) transport.finish();
      });
    });
  }
  for (auto& t : ranks) t.join();
  for (auto& box : job.mailboxes) {
    {
      const std::lock_guard lock(box->mutex);
      box->closed = true;
    }
    box->changed.notify_all();
    if (box->helper.joinable()) box->helper.join();
  }
  if (job.error) std::rethrow_exception(job.error);
}

}  // namespace sial
