#include "runtime/core/store/remote/messages.h"

#include <cstring>
#include <type_traits>

#include "runtime/core/base/check.h"

namespace sial {

namespace {

template <class T>
std::vector<std::byte> bytes_of(const T& value) {
  static_assert(std::is_trivially_copyable_v<T>);
  std::vector<std::byte> bytes(sizeof(T));
  std::memcpy(bytes.data(), &value, sizeof(T));
  return bytes;
}

template <class T>
T value_of(std::span<const std::byte> bytes) {
  SIAL_CHECK(bytes.size() == sizeof(T), "a message of {} bytes where {} are due", bytes.size(), sizeof(T));
  T value;
  std::memcpy(&value, bytes.data(), sizeof(T));
  return value;
}

}  // namespace

std::vector<std::byte> to_bytes(const RequestHeader& h) { return bytes_of(h); }
std::vector<std::byte> to_bytes(const ReplyHeader& h) { return bytes_of(h); }
RequestHeader read_request(std::span<const std::byte> bytes) { return value_of<RequestHeader>(bytes); }
ReplyHeader read_reply(std::span<const std::byte> bytes) { return value_of<ReplyHeader>(bytes); }

}  // namespace sial
