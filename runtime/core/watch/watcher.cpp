#include "runtime/core/watch/watcher.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "runtime/core/base/error.h"
#include "runtime/core/base/process_limits.h"
#include "runtime/core/base/processes.h"

namespace sial {

namespace {

constexpr double between_turns = 1;   // seconds
constexpr double answers_take = 2.5;  // seconds, for a question to reach all hosts and come back

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

std::uint64_t process_names() {
  struct stat info{};
  return stat("/proc/self/ns/pid", &info) == 0 ? info.st_ino : 0;
}

char process_state(const RankStatus& status) {
  if (status.process_names == 0 || status.process_names != process_names()) return 0;
  return look_at_process(status.process).state;
}

Watcher::Watcher(WatchPlace place, HostBoard board, WatchLink* link, RankActivity& activity, WatchOptions options,
                 Actions actions)
    : place_(std::move(place)),
      board_(board),
      link_(link),
      activity_(activity),
      options_(std::move(options)),
      actions_(std::move(actions)),
      process_(static_cast<std::int32_t>(getpid())),
      process_names_(process_names()),
      ranks_(board.ranks(), options_.lost_after),
      hosts_(place_.hosts, options_.lost_after),
      ended_hosts_(static_cast<std::size_t>(place_.hosts), 0),
      stall_(options_.stall_report) {
  if (!is_first()) return;
  all_.resize(static_cast<std::size_t>(place_.ranks));
  noted_.resize(all_.size());
  for (int r = 0; r < place_.ranks; ++r) all_[static_cast<std::size_t>(r)].rank = r;
}

Watcher::~Watcher() { stop(); }

void Watcher::start() {
  thread_ = start_thread("the watch of a rank", [this] { run(); });
  if (options_.set_wake_up) options_.set_wake_up(&wake_up_);
}

void Watcher::stop() {
  if (!thread_.joinable()) return;
  if (options_.set_wake_up) options_.set_wake_up(nullptr);
  stopping_ = true;
  wake_up_.post();
  thread_.join();
}

void Watcher::run() {
  while (!stopping_) {
    turn(steady_seconds());
    wake_up_.wait(between_turns);
  }
  ended_ = true;
  board_.publish(place_.position, status(steady_seconds()));
  if (!leads() || !link_) return;
  if (!is_first()) send(0, false);
  else
    for (int host = 1; host < place_.hosts; ++host) send(host, false);
}

RankStatus Watcher::status(double now) {
  const ActivitySnapshot doing = activity_.snapshot();
  if (doing.statements != statements_) {
    statements_ = doing.statements;
    moved_ = now;
  }
  RankStatus s;
  s.rank = place_.rank;
  s.process = process_;
  s.process_names = process_names_;
  s.beat = ++beat_;
  s.statements = doing.statements;
  s.collectives = doing.collectives;
  s.still = now - moved_;
  if (doing.wait.kind != WaitKind::none) {
    s.waiting = std::chrono::duration<double>(RankActivity::Clock::now() - doing.wait_began).count();
    if (doing.wait.kind == WaitKind::collective) s.waits_for_collective = doing.wait.sequence;
  }
  s.serves = place_.serves ? 1 : 0;
  s.ended = ended_ ? 1 : 0;
  s.set_text(activity_.describe(doing));
  return s;
}

void Watcher::turn(double now) {
  if (ended_) return;
  ranks_.turn(now);
  hosts_.turn(now);
  board_.publish(place_.position, status(now));
  if (options_.take_question && options_.take_question()) board_.ask();
  if (leads()) lead(now);
  else follow(now);
}

/// A leader that is silent cannot say who is lost.
void Watcher::follow(double now) {
  const RankStatus leader = board_.read(0);
  if (leader.rank < 0) return;  // not even announced
  ranks_.heard(0, leader.beat, now);
  if (leader.ended != 0 || !ranks_.silent(0, now)) return;
  if (const char state = actions_.process_state(leader); state != 'T' && state != 'Z' && state != 0) return;
  end(fmt::format("{} has shown no sign of life for {:.0f} s", rank_list({leader.rank}, place_.host_of),
                  ranks_.silence(0, now)),
      "");
}

void Watcher::lead(double now) {
  look_at_host(now);
  if (ended_) return;
  if (board_.take_asked()) asked_ = true;
  if (link_) hear_of_hosts(now);
  if (ended_) return;
  if (is_first()) {
    look_at_job(now);
  } else {
    send(0, texts_wanted_);
    asked_ = false;
  }
}

void Watcher::look_at_host(double now) {
  for (int p = 0; p < board_.ranks(); ++p) {
    const RankStatus s = board_.read(p);
    if (s.rank < 0) continue;  // not even announced
    if (is_first()) note(s, now);
    ranks_.heard(p, s.beat, now);
    if (p == 0 || s.ended != 0 || !ranks_.silent(p, now)) continue;
    const std::string who = rank_list({s.rank}, place_.host_of);
    const double silence = ranks_.silence(p, now);
    // A process that runs, or is looked at by a debugger, will go on.
    switch (actions_.process_state(s)) {
      case 'T':
        end(fmt::format("{} has been stopped by a signal for {:.0f} s (process {})", who, silence, s.process),
            "kill -CONT lets a process go on");
        return;
      case 'Z':
      case 0: end(fmt::format("{} has ended without a word (process {})", who, s.process), ""); return;
      default: break;
    }
  }
}

void Watcher::note(const RankStatus& status, double now) {
  if (status.rank < 0 || status.rank >= place_.ranks) return;
  const auto r = static_cast<std::size_t>(status.rank);
  if (status.beat != all_[r].beat) noted_[r] = now;
  all_[r] = status;
}

/// The status as far as this rank knows: a silent rank has not moved either.
std::vector<RankStatus> Watcher::present(double now) const {
  constexpr double many = 3;  // seconds; a status comes once a second
  std::vector<RankStatus> ranks = all_;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    const double silent = now - noted_[r];
    if (ranks[r].beat == 0 || ranks[r].ended != 0 || silent < many) continue;
    ranks[r].silent = silent;
    ranks[r].still += silent;
    if (ranks[r].waiting > 0) ranks[r].waiting += silent;
  }
  return ranks;
}

void Watcher::hear_of_hosts(double now) {
  while (const auto message = link_->receive()) {
    const HostReport report = unpack(*message);
    if (report.beat == 0 || report.host < 0 || report.host >= place_.hosts) continue;
    hosts_.heard(report.host, report.beat, now);
    if (report.ended) ended_hosts_[static_cast<std::size_t>(report.host)] = 1;
    if (is_first()) {
      asked_ = asked_ || report.asked;
      for (const RankStatus& r : report.ranks) note(r, now);
    } else {
      texts_wanted_ = report.asked;
    }
  }
  for (int host = 0; host < place_.hosts; ++host) {
    if (host == place_.host || (!is_first() && host != 0) || ended_hosts_[static_cast<std::size_t>(host)] != 0 ||
        !hosts_.silent(host, now))
      continue;
    std::vector<int> lost;
    if (is_first()) {
      for (int r = 0; r < place_.ranks; ++r)
        if (place_.host_number && place_.host_number(r) == host) lost.push_back(r);
    } else {
      lost.push_back(0);
    }
    end(fmt::format("nothing has been heard of {} for {:.0f} s", rank_list(lost, place_.host_of),
                    hosts_.silence(host, now)),
        "the host is down, cut off from the network, or its processes are stopped");
    return;
  }
}

void Watcher::look_at_job(double now) {
  for (int host = 1; link_ && host < place_.hosts; ++host) send(host, false);
  const std::vector<RankStatus> ranks = present(now);
  if (asked_ && answer_at_ < 0) answer_at_ = now + (link_ ? answers_take : board_.ranks() > 1 ? between_turns : 0);
  if (answer_at_ >= 0 && now >= answer_at_) {
    answer_at_ = -1;
    asked_ = false;
    actions_.say(fmt::format("note: what the ranks do (SIGQUIT)\n{}", describe_ranks(ranks, place_.host_of)));
  }
  if (const std::string text = stall_.due(ranks, place_.host_of); !text.empty()) actions_.say(text);
  if (options_.stall_limit <= 0) return;
  if (const double still = longest_standstill(ranks); still >= options_.stall_limit)
    end(fmt::format("no rank has begun a statement for {:.0f} s (`--stall-limit`)\n{}", still,
                    describe_ranks(ranks, place_.host_of)),
        "");
}

void Watcher::send(int host, bool with_all_texts) {
  constexpr double still = 5;  // seconds after which what a rank does may come into a message
  HostReport report;
  report.beat = beat_;
  report.host = place_.host;
  report.asked = asked_;
  report.ended = ended_;
  if (!is_first())
    for (int p = 0; p < board_.ranks(); ++p) report.ranks.push_back(board_.read(p));
  const double threshold = options_.stall_report > 0 ? std::min(still, options_.stall_report / 2) : still;
  link_->send(host, pack(report, with_all_texts ? 0 : threshold));
}

void Watcher::end(const std::string& what, const std::string& hint) {
  ended_ = true;
  std::string advice = activity_.advice();
  if (!hint.empty() && !advice.empty()) advice = "; " + advice;
  const std::string hints = hint + advice;
  actions_.end(fmt::format("error: {}{}{}", what, hints.empty() ? "" : "\n  hint: ", hints), exit_environment_error);
}

}  // namespace sial
