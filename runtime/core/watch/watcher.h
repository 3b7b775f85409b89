#pragma once
// A thread beside each rank that sees whether the ranks of the job move. Once a second it says on the host's board what
// its rank does. The first rank of a host, its leader, looks at the others of the host, and exchanges reports with the
// leader of the first host, which sees all ranks: it tells the user of stalls, answers questions, and ends the job when
// a limit is passed or a host is silent. Leaders end the job when the first host is silent, and ranks when their leader
// is. Costs some microseconds a second.

#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "runtime/core/watch/activity.h"
#include "runtime/core/watch/liveness.h"
#include "runtime/core/watch/rank_status.h"
#include "runtime/core/watch/stall_report.h"
#include "runtime/core/watch/wake_up.h"
#include "runtime/core/watch/watch_options.h"

namespace sial {

/// Messages between the leaders of hosts. Used by one thread.
class WatchLink {
 public:
  virtual ~WatchLink() = default;
  /// Never waits: the message is left out where the one before has not left.
  virtual void send(int host, const std::vector<std::byte>& message) = 0;
  virtual std::optional<std::vector<std::byte>> receive() = 0;
};

/// The place of a watcher's rank.
struct WatchPlace {
  int rank = 0, ranks = 1;
  int position = 0;  // among the ranks of its host; 0 is the leader
  int host = 0, hosts = 1;
  bool serves = false;
  HostNamer host_of;                         // empty names where there is one host
  std::function<int(int rank)> host_number;  // as `host` has it; may be empty where there is one host
};

class Watcher {
 public:
  struct Actions {
    std::function<void(const std::string&)> say;                 // to the user
    std::function<void(const std::string&, int exit_code)> end;  // the job; need not return
    /// 'R', 'S', 'T' (stopped), 'Z' ... as ps has it; 0: there is no such process, or it is not to be seen.
    std::function<char(const RankStatus&)> process_state;
  };

  /// `link` is null where there is one host. What is referred to outlives the watcher.
  Watcher(WatchPlace place, HostBoard board, WatchLink* link, RankActivity& activity, WatchOptions options,
          Actions actions);
  ~Watcher();
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;

  void start();
  /// The job is over for this rank: the others are told, and the thread ends.
  void stop();
  /// One turn at `now` seconds, in place of the thread's.
  void turn(double now);

 private:
  bool leads() const { return place_.position == 0; }
  bool is_first() const { return leads() && place_.host == 0; }
  void run();
  RankStatus status(double now);
  void follow(double now);
  void lead(double now);
  void look_at_host(double now);
  void hear_of_hosts(double now);
  void look_at_job(double now);
  void note(const RankStatus& status, double now);
  std::vector<RankStatus> present(double now) const;
  void send(int host, bool with_all_texts);
  void end(const std::string& what, const std::string& hint);

  const WatchPlace place_;
  HostBoard board_;
  WatchLink* link_;
  RankActivity& activity_;
  const WatchOptions options_;
  const Actions actions_;
  std::thread thread_;
  WakeUp wake_up_;
  std::atomic<bool> stopping_{false};
  bool ended_ = false;  // the job: nothing is looked at any more

  const std::int32_t process_;         // its number
  const std::uint64_t process_names_;  // and where that holds
  std::int64_t beat_ = 0, statements_ = -1;
  double moved_ = 0;  // when `statements_` was first seen
  Liveness ranks_;    // by position on this host
  Liveness hosts_;    // by host; of the first one only for the others' leaders
  std::vector<char> ended_hosts_;
  bool texts_wanted_ = false;  // by the first host
  bool asked_ = false;
  double answer_at_ = -1;        // of the first host: when the answers of the others have come
  std::vector<RankStatus> all_;  // by rank; of the first host
  std::vector<double> noted_;    // when their last beat came
  StallReport stall_;
};

/// The same as Actions has it, of processes of this machine.
char process_state(const RankStatus& status);
/// A number for the namespace in which this process has its number.
std::uint64_t process_names();

}  // namespace sial
