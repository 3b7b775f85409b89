#pragma once
// For tests of files that are written.

#include <sys/resource.h>

#include <fstream>
#include <iterator>
#include <string>

#include "runtime/core/base/standard_output.h"

namespace sial {

inline std::string content_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

/// No file grows beyond so many bytes while this lives: a disk that is full for files and not for their names.
class LargestFile {
 public:
  explicit LargestFile(rlim_t bytes) {
    expect_failed_writes();
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit now{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &now);
  }
  LargestFile(const LargestFile&) = delete;
  LargestFile& operator=(const LargestFile&) = delete;
  ~LargestFile() { setrlimit(RLIMIT_FSIZE, &before_); }

 private:
  rlimit before_{};
};

}  // namespace sial
