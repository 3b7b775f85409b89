#pragma once
// The kernels under test, with workspace as a rank's pool gives it. A specification is a name of make_kernels() with
// options behind colons: `auto`, `auto:jit=off`, `auto:jit-cpu=x86-64-v3`, `auto:strategy=packed`, `auto:threads=2`.
// What this build refuses is left out with a note.

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "tests/bench/kernels/problem.h"

namespace bench {

struct Implementation {
  std::string name;
  sial::Kernels* kernels = nullptr;
};

class Implementations {
 public:
  explicit Implementations(const std::vector<std::string>& specifications);
  ~Implementations();
  const std::deque<Implementation>& all() const { return all_; }
  const std::vector<std::string>& skipped() const { return skipped_; }
  /// One more. Throws SialError where the build refuses it.
  const Implementation& add(const std::string& specification);
  /// Gives workspace back that the last case needed.
  void trim();

 private:
  class Pool;
  std::unique_ptr<Pool> pool_;
  std::vector<std::unique_ptr<sial::Kernels>> kernels_;
  std::deque<Implementation> all_;
  std::vector<std::string> skipped_;
};

}  // namespace bench
