#pragma once
// SHA-256 (FIPS 180-4), for naming the sources a module was made from. A value: feed bytes in pieces, then take the
// digest.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace sial {

class Sha256 {
 public:
  void update(std::string_view bytes);
  /// 64 lower-case hexadecimal digits. The object may not be used afterwards.
  std::string hex();

 private:
  void block(const std::uint8_t* bytes);

  std::array<std::uint32_t, 8> state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<std::uint8_t, 64> pending_{};
  std::size_t n_pending_ = 0;
  std::uint64_t n_bytes_ = 0;
};

}  // namespace sial
