#pragma once
// A kernel's PTX, decoded once: a flat list of operations on numbered slots. A slot is a register, a special register,
// or a constant of the text. The parser takes the instructions that the code generator emits and refuses all others
// with kernel and line.

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace ptx {

/// What is wrong with a text or a launch: kernel, block and thread where there are some, line of the text, instruction.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

enum class OpCode : std::uint8_t {
#define PTX_UNARY(name, text, result, a, value) name,
#define PTX_BINARY(name, text, result, a, b, value) name,
#define PTX_TERNARY(name, text, result, a, b, c, value) name,
#include "tests/device/ptx/ops.def"
  load,
  store,
  branch,
  barrier,
  ret
};

enum class Space : std::uint8_t { none, param, global, shared };
enum class Type : std::uint8_t { u32, s32, u64, s64, f64, pred };

constexpr std::size_t max_parts = 4;
constexpr int no_slot = -1;

struct Op {
  OpCode code = OpCode::ret;
  Space space = Space::none;      // of load and store
  bool unchanging = false;        // .nc: nobody writes there while the kernel runs
  bool guarded_by_false = false;  // @!p
  std::uint8_t parts = 1;         // of a vector
  std::uint8_t bytes = 8;         // of a part
  int guard = no_slot;
  int d[max_parts] = {no_slot, no_slot, no_slot, no_slot};  // written
  int s[max_parts] = {no_slot, no_slot, no_slot, no_slot};  // read
  int base = no_slot;                                       // of the address, in bytes, + offset
  std::int64_t offset = 0;
  int target = -1;  // of a branch: number of the operation
  int line = 0;     // of the text, from 1
};

/// Where shared memory and parameters begin, as addresses in their own spaces. No address of global memory is so low.
constexpr std::uint64_t shared_base = 0x400, param_base = 0x160;

/// Slots of special registers, which come first.
enum Special : int { tid_x, ntid_x, ctaid_x, nctaid_x, specials };

struct Constant {
  int slot = 0;
  std::uint64_t bits = 0;
};

/// Of one kind: %r0, %r1, ...
struct Registers {
  std::string prefix;
  int first = 0, count = 0;  // slots
  int units = 0;             // of 32 bits; predicates have none
};

struct Program {
  std::string kernel, target;       // entry point, "sm_80"
  std::size_t parameter_bytes = 0;  // of the only parameter, a struct by value
  unsigned max_threads = 1024;      // .maxntid
  int slots = specials;
  std::vector<Op> ops;
  std::vector<Registers> registers;
  std::vector<Constant> constants;     // behind the registers
  std::vector<std::string> lines;      // of the text
  std::string at(const Op& op) const;  // "line 12 `ret;`"
};

/// Throws Error for what is not understood, naming kernel and line.
Program parse(std::string_view text);

}  // namespace ptx
