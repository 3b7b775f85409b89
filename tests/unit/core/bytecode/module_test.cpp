// The instruction table, the file form, and the listing.
#include <catch2/catch.hpp>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <set>

#include "runtime/core/base/error.h"
#include "runtime/core/bytecode/layout.h"
#include "runtime/core/bytecode/read.h"
#include "runtime/core/bytecode/write.h"
#include "sample.h"

using namespace sial;
using Catch::Matchers::Contains;

TEST_CASE("opcode table") {
  std::set<int> numbers;
  std::set<std::string_view> names;
  for (const OpcodeInfo& row : opcode_table()) {
    CAPTURE(row.name);
    CHECK(numbers.insert(static_cast<int>(row.op)).second);
    CHECK(names.insert(row.name).second);
    CHECK(opcode_info(row.op) == &row);
    CHECK_FALSE(row.meaning.empty());
    bool ended = false;  // no operand after an unused one
    for (const OperandKind kind : row.operands) {
      CHECK_FALSE((ended && kind != OperandKind::none));
      ended = ended || kind == OperandKind::none;
    }
  }
  CHECK(opcode_info(static_cast<Opcode>(0)) == nullptr);
  CHECK(opcode_info(static_cast<Opcode>(65535)) == nullptr);
}

TEST_CASE("the wire numbers of the first instructions never change") {
  CHECK(static_cast<int>(Opcode::halt) == 1);
  CHECK(static_cast<int>(Opcode::pardo_begin) == 14);
  CHECK(static_cast<int>(Opcode::block_contract) == 78);
  CHECK(static_cast<int>(Opcode::execute) == 130);
}

TEST_CASE("write and read are inverse") {
  for (const Module& m : {test::sample_module(), test::empty_module()}) {
    const auto bytes = write_module(m);
    const Module again = read_module(bytes, "m.siox");
    CHECK(again == m);
    CHECK(write_module(again) == bytes);
  }
}

TEST_CASE("a module at an odd address is read") {
  const auto bytes = write_module(test::sample_module());
  std::vector<std::byte> shifted(bytes.size() + 1);
  std::memcpy(shifted.data() + 1, bytes.data(), bytes.size());
  CHECK(read_module(std::span<const std::byte>(shifted).subspan(1), "m.siox") == test::sample_module());
}

TEST_CASE("files that are no modules") {
  const auto refused = [](std::string_view text, const char* message) {
    CHECK_THROWS_WITH(read_module(std::as_bytes(std::span<const char>(text.data(), text.size())), "m.siox"),
                      Contains(message));
  };
  refused("", "`m.siox` is not a sialx module");
  refused("sial p\nendsial p\n", "`m.siox` is not a sialx module");
  refused(std::string_view("\xff\xff\xff\x7fSIOX", 8), "damaged");
  CHECK_THROWS_AS(read_module_file("/nonexistent/m.siox"), InputError);
  CHECK_THROWS_AS(read_module_file("/"), InputError);
}

TEST_CASE("another format version is named") {
  auto bytes = write_module(test::sample_module());
  // format_version is the only number that a rewrite to 7 turns into this message; find it by trying.
  bool found = false;
  for (std::size_t at = 8; at + 4 <= bytes.size() && !found; at += 4) {
    std::uint32_t value = 0;
    std::memcpy(&value, &bytes[at], 4);
    if (value != module_format_version) continue;
    auto changed = bytes;
    value = 7;
    std::memcpy(&changed[at], &value, 4);
    try {
      read_module(changed, "m.siox");
    } catch (const SialError& e) {
      found = std::string(e.what()).find("has module format version 7, this program reads version " +
                                         std::to_string(module_format_version)) != std::string::npos;
    }
  }
  CHECK(found);
}

TEST_CASE("modules in files") {
  const std::string path = std::string(std::tmpnam(nullptr)) + ".siox";
  const auto bytes = write_module(test::sample_module());
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  CHECK(read_module_file(path) == test::sample_module());
  std::remove(path.c_str());
}

TEST_CASE("the listing shows names, intents and places") {
  const std::string text = disassemble(test::sample_module());
  for (const char* part : {"program sample", "aoindex i = 1:norb", "subindex ii of i", "sparse distributed d[i,j]",
                           "predefined static table[s]", "pardo i,j begin", "main:", "proc p:",
                           "block_contract t[i,j]:w, st[i,k]:r, st[k,j]:r, =", "where %i2, loop 0 (i,j)",
                           "allocate l[*,*]:w", "execute f t[i,j]:r x:w", "region_put c[n:n,%i2:%i3]:w, t[i,j]:r",
                           "print_string \"hello\", 1", "# sample.sialx:1:3", "call p"})
    CHECK_THAT(text, Contains(part));
}

TEST_CASE("partial and single-element references") {
  const Module m = test::sample_module();
  CHECK(is_partial(m, {ArrayId(0), Intent::read, {{IndexId(4), false}, {IndexId(1), false}}}));
  CHECK_FALSE(is_partial(m, {ArrayId(6), Intent::read, {{IndexId(4), false}, {IndexId(1), false}}}));
  CHECK(is_all_simple(m, {ArrayId(5), Intent::read, {{IndexId(3), false}}}));
  CHECK(is_all_simple(m, {ArrayId(5), Intent::read, {{IndexId(0), true}}}));
  CHECK_FALSE(is_all_simple(m, {ArrayId(0), Intent::read, {{IndexId(0), false}, {IndexId(1), false}}}));
}
