#include "runtime/core/transport/loopback.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <thread>

#include "runtime/core/base/check.h"
#include "runtime/core/transport/collective.h"
#include "runtime/core/transport/in_process.h"
#include "runtime/core/watch/watcher.h"

namespace sial {

namespace {

class Loopback final : public ExchangeTransport {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  NodeId node() const override { return NodeId(0); }
  int node_count() const override { return 1; }
  const std::vector<int>& ranks_of_node(NodeId) const override { return ranks_; }
  const std::vector<NodeId>& home_nodes() const override { return nodes_; }

  std::shared_ptr<NodeMemory> map_node_memory(std::size_t reserve_bytes, const std::string& purpose) override {
    return make_private_memory(reserve_bytes, purpose, nullptr);
  }

  void set_service(Service*) override {}
  std::unique_ptr<PendingRequest> request(int to, std::span<const std::byte>, Payload, ReplyBuffer, Priority) override {
    SIAL_CHECK(false, "a job of one rank sends no requests (to rank {})", to);
    return nullptr;
  }
  void finish() override { watcher_.reset(); }

  void start_watch(const WatchOptions& options) override {
    board_.resize(HostBoard::bytes(1) / sizeof(std::uint64_t));
    const Watcher::Actions actions{[](const std::string& text) { fmt::print(stderr, "{}", text); },
                                   [this](const std::string& text, int exit_code) { abort_job(text, exit_code); },
                                   process_state};
    watcher_.emplace(WatchPlace{}, HostBoard(reinterpret_cast<std::byte*>(board_.data()), 1), nullptr, activity(),
                     options, actions);
    watcher_->start();
  }

  void pause() override { std::this_thread::yield(); }
  double now() const override {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

  [[noreturn]] void abort_job(const std::string& message, int exit_code) override {
    std::fflush(stdout);
    fmt::print(stderr, "{}\n", message);
    std::fflush(stderr);
    std::_Exit(exit_code);  // no destructors: helper threads of other components may still run
  }

 protected:
  const Parts& exchange(const CollectiveRecord&, std::span<const std::byte> mine) override {
    parts_[0].assign(mine.begin(), mine.end());
    return parts_;
  }

 private:
  Parts parts_ = Parts(1);
  std::vector<int> ranks_{0};
  std::vector<NodeId> nodes_{NodeId(0)};
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::vector<std::uint64_t> board_;
  std::optional<Watcher> watcher_;
};

}  // namespace

std::unique_ptr<Transport> make_loopback() { return std::make_unique<Loopback>(); }

}  // namespace sial
