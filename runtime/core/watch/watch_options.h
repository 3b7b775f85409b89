#pragma once
// When the watchers of a job speak, and when they end it.

#include <functional>

namespace sial {

class WakeUp;

/// The options of the command line.
struct WatchOptions {
  static constexpr double default_report = 60, default_lost = 30;
  double stall_report = default_report;      // seconds that a rank waits before it is spoken of; 0: never
  double stall_limit = 0;                    // seconds without any statement after which the job is ended; 0: none
  double lost_after = default_lost;          // seconds without a sign of life; 0: nobody is ever lost
  std::function<bool()> take_question;       // whether the user has asked what the ranks do; may be empty
  std::function<void(WakeUp*)> set_wake_up;  // whom to wake then; null: nobody any more
};

}  // namespace sial
