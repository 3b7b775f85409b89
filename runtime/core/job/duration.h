#pragma once
// Spans of time as users write them: "90", "30s", "11h30m", "1.5h", "11:30:00".

#include <string_view>

namespace sial {

/// Seconds. A number without a unit counts `bare_unit` seconds. Throws SialError.
double parse_duration(std::string_view text, double bare_unit);

/// The interval between checkpoints in seconds, minutes without a unit; "programs" (only between programs) is infinity.
double parse_checkpoint_every(std::string_view text);

}  // namespace sial
