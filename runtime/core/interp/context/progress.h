#pragma once
// Tells how far a long pardo is, and what is known of the job: one line that is rewritten in place on a terminal, now
// and then a line of a log, or a call of a function. Owned by the first rank's machine; whoever writes to the same
// terminal calls hide() first.

#include <functional>
#include <iosfwd>
#include <string>
#include <string_view>
#include <utility>

#include "runtime/core/interp/context/job_outlook.h"

namespace sial {

enum class ProgressMode { off, line, log, told };

/// The work that a pardo has done, in seconds; `left` is less than 0 where it is not known yet.
struct ProgressState {
  std::string_view what;
  double fraction = 0, elapsed = 0, left = -1;
};
using TellProgress = std::function<void(const ProgressState&)>;

class Progress {
 public:
  /// `tell`: with ProgressMode::told, called twice a second instead of writing. What it throws passes through.
  Progress(std::ostream& out, ProgressMode mode, TellProgress tell = {})
      : out_(out), mode_(mode), tell_(std::move(tell)) {}
  ~Progress() { hide(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Times are in seconds on any clock.
  void begin(std::string what, double now);
  void update(double fraction, double now, const JobOutlook& job = {});
  void end() { hide(); }
  void hide();

 private:
  std::ostream& out_;
  ProgressMode mode_;
  TellProgress tell_;
  std::string what_;
  double begun_ = 0, next_ = 0, fraction_ = 0;
  double next_log_ = -1;  // lines of a log keep their distance over all pardos
  bool shown_ = false;
};

/// "7 s", "3 min 5 s", "2 h 10 min"
std::string duration_text(double seconds);

}  // namespace sial
