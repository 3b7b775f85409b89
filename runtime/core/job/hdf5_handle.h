#pragma once
// An open HDF5 object, for the files that call the library; closed at the end, of whatever kind it is.

#include <cstdint>

namespace sial {

class Handle {
 public:
  explicit Handle(std::int64_t id) : id_(id) {}
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle();
  operator std::int64_t() const { return id_; }
  bool ok() const { return id_ >= 0; }
  /// Leaves a file that is not touched again.
  void leave() { id_ = -1; }

 private:
  std::int64_t id_;
};

}  // namespace sial
