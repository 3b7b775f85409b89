#pragma once
// Changing what a file of the user's holds while it stays that file: symbolic and hard links lead to it as before, and
// it keeps its owner and its rights. Where nothing is lost by that, a new file takes its place, as in output_file.h. A
// file with more than one name, or whose owner, rights or attributes a new file would not get, is written where it
// stands, with a copy of it kept until that is done.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace sial {

/// Makes a file hold `content`; what is no regular file, or not there yet, is written as by write_file(). Throws
/// EnvironmentError: then the file holds what it held before, or the hint names the copy that does.
void rewrite_file(const std::string& path, std::string_view content);

/// All of `content` at a place of an open file: 0 or the error.
using WriteAt = std::function<int(int file, std::int64_t offset, std::span<const std::byte> content)>;

struct Rewritten {
  int error = 0;
  bool restored = true;  // after an error: the file holds again what it held
};

/// The part of rewrite_file() that works on the open file, which holds `before`.
Rewritten rewrite_in_place(int file, std::string_view before, std::string_view after, const WriteAt& write);

}  // namespace sial
