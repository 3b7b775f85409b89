#include "runtime/core/transport/mpi_watch.h"

#include <algorithm>
#include <utility>

#include "runtime/core/transport/launcher.h"
#include "runtime/core/watch/watcher.h"

namespace sial {

namespace {

/// Used by the watcher's thread of a leader, beside the other threads of its rank that call MPI.
class MpiWatchLink final : public WatchLink {
 public:
  MpiWatchLink(MpiWorld& world, std::vector<int> leaders)
      : world_(world), leaders_(std::move(leaders)), sending_(leaders_.size()) {}

  /// The peers of messages are there until all have ended. What has not left even so is left to the process.
  ~MpiWatchLink() override {
    constexpr int attempts = 1000;  // a millisecond each
    for (Sending& s : sending_) {
      int done = s.request == MPI_REQUEST_NULL ? 1 : 0;
      for (int i = 0; !done && i < attempts && MPI_Test(&s.request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS; ++i)
        if (!done) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      if (!done) static_cast<void>(s.message.release());
    }
  }
  MpiWatchLink(const MpiWatchLink&) = delete;
  MpiWatchLink& operator=(const MpiWatchLink&) = delete;

  void send(int host, const std::vector<std::byte>& message) override {
    Sending& s = sending_[static_cast<std::size_t>(host)];
    if (s.request != MPI_REQUEST_NULL) {
      int done = 0;
      if (MPI_Test(&s.request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS || !done) return;
    }
    s.message = std::make_unique<std::vector<std::byte>>(message);
    MPI_Isend(s.message->data(), static_cast<int>(s.message->size()), MPI_BYTE,
              leaders_[static_cast<std::size_t>(host)], tag, world_.watch, &s.request);
  }

  std::optional<std::vector<std::byte>> receive() override {
    int found = 0, bytes = 0;
    MPI_Message message;
    MPI_Status status;
    if (MPI_Improbe(MPI_ANY_SOURCE, tag, world_.watch, &found, &message, &status) != MPI_SUCCESS || !found) return {};
    MPI_Get_count(&status, MPI_BYTE, &bytes);
    std::vector<std::byte> data(static_cast<std::size_t>(bytes));
    if (MPI_Mrecv(data.data(), bytes, MPI_BYTE, &message, MPI_STATUS_IGNORE) != MPI_SUCCESS) return {};
    return data;
  }

 private:
  static constexpr int tag = 1;
  struct Sending {
    std::unique_ptr<std::vector<std::byte>> message;
    MPI_Request request = MPI_REQUEST_NULL;
  };
  MpiWorld& world_;
  const std::vector<int> leaders_;  // their ranks, by host
  std::vector<Sending> sending_;
};

class MpiWatch {
 public:
  MpiWatch(MpiWorld& world, RankActivity& activity, bool serves, const WatchOptions& options)
      : world_(world), leaders_(world.host_of) {
    std::sort(leaders_.begin(), leaders_.end());
    leaders_.erase(std::unique(leaders_.begin(), leaders_.end()), leaders_.end());
    // The first host is that of rank 0, which prints.
    if (leaders_.size() > 1) link_.emplace(world, leaders_);
    watcher_.emplace(
        place(serves), world.board(), link_ ? &*link_ : nullptr, activity, options,
        Watcher::Actions{[](const std::string& text) {
                           fmt::print(stderr, "{}", text);
                           std::fflush(stderr);
                         },
                         [this](const std::string& text, int exit_code) { end(text, exit_code); }, process_state});
    watcher_->start();
  }

 private:
  [[noreturn]] void end(const std::string& text, int exit_code) {
    constexpr int usual = 4;  // seconds; a launcher that reaches all hosts takes less
    if (link_) end_launcher_after(usual);
    world_.abort(text, exit_code);
  }
  int number_of_host(int rank) const {
    const int first = world_.host_of[static_cast<std::size_t>(rank)];
    return static_cast<int>(std::lower_bound(leaders_.begin(), leaders_.end(), first) - leaders_.begin());
  }
  WatchPlace place(bool serves) const {
    WatchPlace place;
    place.rank = world_.rank;
    place.ranks = static_cast<int>(world_.host_of.size());
    MPI_Comm_rank(world_.host, &place.position);
    place.host = number_of_host(world_.rank);
    place.hosts = static_cast<int>(leaders_.size());
    place.serves = serves;
    if (!world_.host_names.empty())
      place.host_of = [this](int rank) { return world_.host_names[static_cast<std::size_t>(rank)]; };
    place.host_number = [this](int rank) { return number_of_host(rank); };
    return place;
  }

  MpiWorld& world_;
  std::vector<int> leaders_;  // ranks, by host
  std::optional<MpiWatchLink> link_;
  std::optional<Watcher> watcher_;
};

}  // namespace

std::shared_ptr<void> make_mpi_watch(MpiWorld& world, RankActivity& activity, bool serves,
                                     const WatchOptions& options) {
  return std::make_shared<MpiWatch>(world, activity, serves, options);
}

}  // namespace sial
