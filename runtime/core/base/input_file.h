#pragma once
// Files that a program reads as a whole. A name may lead to a device without an end, to a pipe that nobody writes into,
// or to a file that is something else: what no regular file is, and what is larger than its kind can be, is refused
// before it is read.

#include <cstdint>
#include <string>
#include <string_view>

namespace sial {

/// The most bytes that a file of its kind may have.
namespace input_limit {
inline constexpr std::int64_t source = std::int64_t{16} << 20;
inline constexpr std::int64_t module = std::int64_t{1} << 30;
inline constexpr std::int64_t job_file = std::int64_t{64} << 20;
inline constexpr std::int64_t xyz = std::int64_t{16} << 20;
inline constexpr std::int64_t basis = std::int64_t{64} << 20;
inline constexpr std::int64_t occupations = std::int64_t{16} << 20;
inline constexpr std::int64_t batch = std::int64_t{64} << 20;
inline constexpr std::int64_t block_text = std::int64_t{16} << 30;
inline constexpr std::int64_t initial_data = std::int64_t{64} << 30;
inline constexpr std::int64_t statistics = std::int64_t{4} << 30;
inline constexpr std::int64_t checkpoint_index = std::int64_t{1} << 30;
}  // namespace input_limit

/// Why `path` is not to be read: "No such file or directory", "it is a folder", "it is a device", "it has 5 GB, and the
/// limit is 64 MiB". Empty when it is a regular file (or a link to one) within the limit.
std::string read_problem(const std::string& path, std::int64_t limit);

/// The content of a file; `problem` says why there is none, as read_problem() and where reading fails.
std::string read_file(const std::string& path, std::int64_t limit, std::string& problem);

/// Why a shared library is not to be opened: parts of it that its own head names are missing, and the loader would die
/// of them (SIGBUS). Empty when it is whole, and when it is no library at all, of which the loader says more.
std::string library_problem(const std::string& path);

}  // namespace sial
