#pragma once
// The parsed lines of a program, saved from one parse to the next: an editor parses the same text again and again with
// one line changed. A statement of SIAL ends with its line, so a line's tree depends on nothing but its text; loops and
// procedures are put together from the trees of their lines (parse_module with this argument). The results are those of
// a parse without it. Owned by the caller, for any number of files, one parse at a time.

#include <cstddef>
#include <memory>

namespace sial {

class LineTrees {
 public:
  LineTrees();
  ~LineTrees();
  LineTrees(LineTrees&&) noexcept;
  LineTrees& operator=(LineTrees&&) noexcept;

  std::size_t size() const;  // lines that are known

  struct State;
  State& state() { return *state_; }

 private:
  std::unique_ptr<State> state_;
};

}  // namespace sial
