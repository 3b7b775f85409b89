#pragma once
// Segments and predefined values as users state them, and what follows from them.

#include <cstdint>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/core/job/job.h"

namespace sial {

/// Elements of all segments together.
inline std::int32_t all_elements(const std::vector<std::int32_t>& sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), 0);
}

/// Pieces of about `target`, as equal as can be.
std::vector<std::int32_t> equal_segments(std::int32_t n, std::int32_t target);

/// Whether the user leaves the segments of a key to us.
bool is_automatic(const Job& job, const std::string& key);

/// The options that give a run the segments `wanted` instead of its own: `--segments ao=8,8,4 --segments mo=5,6`; empty
/// when it has them, or when it has kinds that are not wanted.
std::string segment_options(const NamedSegments& wanted, const NamedSegments& own);

/// Unless the user gives the value.
void set_int(Job& job, const std::string& name, std::int32_t value);

/// Recomputes job.data's segment tables, and what follows from what the job is about (domain.h).
void derive_job_data(Job& job);

/// The number as the size of a segment. Throws InputError.
std::int32_t segment_size(std::int64_t value, std::string_view key);

// Statements of the command line; the job follows.
/// `--set name=value`: an integer or a real, by its spelling. Overrides the job file.
void apply_set(Job& job, std::string_view text);

/// `--segments ao=8,8,4`: the list of one kind; `ao=auto`, `ao_target=8`; `auto`: all kinds. Overrides the job file.
void apply_segments(Job& job, std::string_view text);

}  // namespace sial
