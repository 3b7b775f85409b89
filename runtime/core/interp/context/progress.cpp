#include "runtime/core/interp/context/progress.h"

#include <algorithm>
#include <cmath>
#include <ostream>

#include <fmt/format.h>

#include "runtime/core/base/printable.h"

namespace sial {

namespace {

constexpr double first_after = 1.0, line_interval = 0.5, log_interval = 60.0;  // seconds
constexpr const char* clear_line = "\r\x1b[K";

}  // namespace

std::string duration_text(double seconds) {
  const auto s = static_cast<long long>(std::ceil(std::clamp(seconds, 0.0, 1e12)));
  if (s < 60) return fmt::format("{} s", s);
  if (s < 3600) return fmt::format("{} min {} s", s / 60, s % 60);
  return fmt::format("{} h {} min", s / 3600, s % 3600 / 60);
}

void Progress::begin(std::string what, double now) {
  hide();
  what_ = printable_name(what);
  begun_ = now;
  fraction_ = 0;
  if (next_log_ < 0) next_log_ = now + log_interval;
  next_ = mode_ == ProgressMode::log ? std::max(next_log_, now + first_after) : now + first_after;
}

void Progress::update(double fraction, double now, const JobOutlook& job) {
  // An estimate from one rank's chunks may step back; what is shown does not.
  fraction_ = std::clamp(fraction, fraction_, 0.999);
  if (mode_ == ProgressMode::off || now < next_) return;
  const double elapsed = now - begun_;
  const double left = fraction_ > 0.005 ? elapsed * (1 - fraction_) / fraction_ : -1;
  if (mode_ == ProgressMode::told) {
    next_ = now + line_interval;
    tell_({what_, fraction_, elapsed, left});
    return;
  }
  std::string text = fmt::format("{}: {:.0f} %, {} so far", what_, std::floor(100 * fraction_), duration_text(elapsed));
  if (left >= 0) text += fmt::format(", about {} left", duration_text(left));
  if (const std::string outlook = outlook_text(job, now, left); !outlook.empty()) text += "; " + outlook;
  if (mode_ == ProgressMode::line) {
    out_ << clear_line << text << std::flush;
    shown_ = true;
    next_ = now + line_interval;
  } else {
    out_ << "progress: " << text << std::endl;
    next_ = next_log_ = now + log_interval;
  }
}

void Progress::hide() {
  if (!shown_) return;
  shown_ = false;
  out_ << clear_line << std::flush;
}

}  // namespace sial
