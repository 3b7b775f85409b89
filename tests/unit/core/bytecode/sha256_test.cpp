// Known answers of FIPS 180-4, and that the way the bytes are cut does not matter.
#include <catch2/catch.hpp>

#include "runtime/core/base/sha256.h"

namespace {
std::string hash(std::string_view text) {
  sial::Sha256 h;
  h.update(text);
  return h.hex();
}
}  // namespace

TEST_CASE("sha256 known answers") {
  CHECK(hash("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(hash("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(hash("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq") ==
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  CHECK(hash(std::string(1000000, 'a')) == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST_CASE("sha256 of pieces") {
  const std::string text(317, 'x');
  for (std::size_t cut : {0, 1, 55, 56, 63, 64, 65, 128, 317}) {
    sial::Sha256 h;
    h.update(std::string_view(text).substr(0, cut));
    h.update(std::string_view(text).substr(cut));
    CHECK(h.hex() == hash(text));
  }
}
