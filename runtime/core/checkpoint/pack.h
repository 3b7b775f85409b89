#pragma once
// Plain values, texts and vectors as bytes, and back. Bytes are those of one machine type. A reader that runs out of
// bytes says so with an exception, so that damaged data never makes it read elsewhere or ask for absurd amounts of
// memory.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "runtime/core/base/error.h"

namespace sial {

class Packer {
 public:
  template <class T>
  void value(const T& v) {
    static_assert(std::is_trivially_copyable_v<T>);
    append(std::as_bytes(std::span(&v, 1)));
  }
  template <class T>
  void values(std::span<const T> v) {
    static_assert(std::is_trivially_copyable_v<T>);
    value(static_cast<std::uint64_t>(v.size()));
    append(std::as_bytes(v));
  }
  template <class T>
  void values(const std::vector<T>& v) {
    values(std::span<const T>(v));
  }
  void text(const std::string& s) { values(std::span<const char>(s)); }
  template <class T>
  void map(const std::map<std::string, T>& m) {
    value(static_cast<std::uint64_t>(m.size()));
    for (const auto& [name, v] : m) {
      text(name);
      value(v);
    }
  }
  void rest(std::span<const std::byte> bytes) { append(bytes); }
  const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  void append(std::span<const std::byte> bytes);

  std::vector<std::byte> bytes_;
};

class Unpacker {
 public:
  explicit Unpacker(std::span<const std::byte> bytes) : bytes_(bytes) {}
  template <class T>
  T value() {
    T v{};
    std::memcpy(&v, take(sizeof v).data(), sizeof v);
    return v;
  }
  template <class T>
  std::vector<T> values() {
    const auto n = value<std::uint64_t>();
    if (n > bytes_.size() / sizeof(T)) fail();
    std::vector<T> v(n);
    if (n) std::memcpy(v.data(), take(n * sizeof(T)).data(), n * sizeof(T));
    return v;
  }
  std::string text() {
    const auto chars = values<char>();
    return {chars.begin(), chars.end()};
  }
  template <class T>
  std::map<std::string, T> map() {
    std::map<std::string, T> m;
    for (auto n = value<std::uint64_t>(); n > 0; --n) {
      std::string name = text();
      m[std::move(name)] = value<T>();
    }
    return m;
  }
  bool empty() const { return bytes_.empty(); }
  std::span<const std::byte> rest() const { return bytes_; }

 private:
  [[noreturn]] static void fail() { throw SialError("the data end too early"); }
  std::span<const std::byte> take(std::size_t n) {
    if (bytes_.size() < n) fail();
    const auto part = bytes_.first(n);
    bytes_ = bytes_.subspan(n);
    return part;
  }
  std::span<const std::byte> bytes_;
};

}  // namespace sial
